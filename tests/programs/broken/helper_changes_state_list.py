"""A function that changes its argument, called with what state handed out."""

import anabranch as ab


def pushed(stack: list[int], x: int) -> list[int]:
    stack.append(x)  #! AB302
    return stack


class Stacks(ab.Program):
    stacks: ab.Partitioned[ab.Table[str, list[int]]]

    def push(self, name: str, x: int) -> None:
        self.stacks[name] = pushed(self.stacks.get(name, []), x)
