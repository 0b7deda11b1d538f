"""Another number of workers, where each has an address space to itself.

Workers send what they have to those that will have it (`at_worker`) when the coordinator asks (`at_coordinator`), while
epochs go on; then all of them go over to the new routing between two epochs. `anabranch.drivers.moving` has what both
ends do with rows.
"""
