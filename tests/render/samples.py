"""Hand-built records and verdicts: invented figures, chosen so that the shown text is known."""

from mla_var3.core.diagnosis import BoundClass, Diagnosis, Evidence, Opportunity, ProfileDiagnosis
from mla_var3.core.record import Environment, HotLine, Metric, PlanIdentity, Profile, Stage

UNITS = {"duration": "ns", "sm_clock": "Hz"}


def metric(key: str, value: float) -> Metric:
    return Metric(value, UNITS.get(key, "%"), "ncu", f"counter.{key}")


def stage(name: str, missing: dict[str, str] | None = None, **values: float) -> Stage:
    return Stage(
        name=name,
        kernel=f"void {name}(float *)",
        launch=0,
        metrics={key: metric(key, value) for key, value in values.items()},
        missing=missing or {},
    )


def verdict(name: str, bound: BoundClass, **fields: object) -> Diagnosis:
    known: dict[str, object] = {
        "seed_class": bound,
        "cause": "test",
        "limiter": f"limiter of {name}",
        "root_cause": f"{name} is limited. It is known why.",
        "confidence": "high",
    }
    return Diagnosis(stage=name, bound=bound, **(known | fields))  # type: ignore[arg-type]


def opportunity(name: str, gain: float) -> Opportunity:
    return Opportunity(name=name, gain_pct=gain, trigger_metric="TC %", trigger_value="46.7 %")


def attention() -> tuple[Profile, ProfileDiagnosis]:
    """Three kernels as on the design's screen."""
    profile = Profile(
        mode="ncu",
        status="OK",
        environment=Environment(
            device="NVIDIA H200",
            capture_tool="ncu 2025.3.1",
            clock_max_hz=1.98e9,
            clocks_locked=False,
        ),
        stages=(
            stage(
                "fa_fwd", duration=612800, tensor=46.7, dram=8.8, occupancy=12.5, sm_clock=1.78e9
            ),
            stage("copy_k", duration=259600, tensor=0, dram=84.0, occupancy=79.8, sm_clock=1.97e9),
            stage(
                "nvjet", duration=1419700, tensor=93.5, dram=20.7, occupancy=14.8, sm_clock=1.56e9
            ),
        ),
    )
    where = HotLine(
        file="prog.py",
        line=15,
        samples_pct=16.7,
        text="  s = tl.dot(q, tl.trans(k))",
        instruction="WARPGROUP.DEPBAR",
    )
    first = verdict(
        "fa_fwd",
        "Latency",
        limiter="tensor and softmax phases alternate (tensor 48.8 % + issue 35.7 % = 84 %)",
        evidence=(Evidence(text="TC 46.7 %"), Evidence(text="stall barrier 23 %")),
        counter_evidence=(Evidence(text="occupancy 12.5 %: by design"),),
        where=where,
        opportunities=(opportunity("overlap softmax with the next QK", 53.3),),
        key_issue="phases alternate",
    )
    stages = (first, verdict("copy_k", "Memory"), verdict("nvjet", "Compute"))
    diagnosis = ProfileDiagnosis(
        stages=stages,
        bound="Compute",
        root_cause="The tensor pipe is 93.5 % busy. Only a faster clock helps.",
        confidence="high",
        opportunities=(opportunity("overlap", 12.34), opportunity("raise the clock", 21.0)),
        total_ns=2292100,
    )
    return profile, diagnosis


def many(number: int, name: str = "kernel") -> tuple[Profile, ProfileDiagnosis]:
    """`number` launches: launch i lasts i + 1 microseconds; the odd ones are Memory-bound."""
    names = [f"{name}#{i + 1}" if i else name for i in range(number)]
    stages = tuple(
        stage(n, duration=1000.0 * (i + 1), tensor=10, dram=75, occupancy=50)
        for i, n in enumerate(names)
    )
    bounds: tuple[BoundClass, ...] = ("Latency", "Memory")
    verdicts = tuple(verdict(n, bounds[i % 2]) for i, n in enumerate(names))
    profile = Profile(mode="ncu", status="OK", stages=stages)
    return profile, ProfileDiagnosis(
        stages=verdicts, bound="Memory", root_cause="DRAM is full.", confidence="high"
    )


def planned(profile: Profile) -> Profile:
    """The same record as the profile of a plan."""
    import msgspec

    params: dict[str, int | float | str | bool] = {"b": 32, "s": 16, "t": 4096, "dtype": "bfloat16"}
    plan = PlanIdentity(kernel="flash_mla", version="v1", params=params)
    return msgspec.structs.replace(profile, plan=plan)
