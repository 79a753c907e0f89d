"""Plan the parcels of Leipzig, and print the result."""

from pathlib import Path

import fixedfleet as ff

instance = ff.read(Path(__file__).with_name("leipzig_parcels.csv"))
verdict = ff.assess_fleet(instance)
print(verdict)

result = ff.solve(instance, time_limit=1.0, seed=0)
if result.plan is None:
    raise SystemExit(f"no plan within {instance.vehicles} vehicles")
print(f"{result.plan.vehicles} vans, {result.length:.1f} km")
for number, load in enumerate(result.plan.loads(instance), 1):
    print(f"van {number} carries {load} of {instance.capacity} kg")
