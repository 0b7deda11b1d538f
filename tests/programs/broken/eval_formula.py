"""Code made at run time."""

import anabranch as ab


class Formulas(ab.Program):
    results: ab.Partitioned[ab.Table[str, int]]

    def compute(self, name: str, formula: str) -> None:
        self.results[name] = int(eval(formula))  #! AB508

    def run(self, name: str, code: str) -> None:
        exec(code)  #! AB508
