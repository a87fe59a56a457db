"""Pure presentation: values in, text out. Imports core and conf only."""
