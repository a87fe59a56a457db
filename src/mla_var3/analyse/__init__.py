"""Pure judgement: a record in, a diagnosis out. Imports core and conf only."""
