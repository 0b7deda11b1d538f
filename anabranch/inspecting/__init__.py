"""What a checkpoint location holds, without the program: look at it, read a state of it, rename or drop states."""

from anabranch.inspecting.looking import Inspection, inspect
from anabranch.inspecting.migrating import Migration, migrate
from anabranch.inspecting.reading import read_checkpoint

__all__ = ["Inspection", "Migration", "inspect", "migrate", "read_checkpoint"]
