"""Functions of other packages that nobody declared pure."""

import json
from urllib.parse import quote

import anabranch as ab


class Documents(ab.Program):
    texts: ab.Partitioned[ab.Table[str, str]]

    def put(self, name: str, words: list[str]) -> None:
        self.texts[name] = json.dumps(words)  #! AB502

    def link(self, name: str) -> str:
        return "/" + quote(name)  #! AB502
