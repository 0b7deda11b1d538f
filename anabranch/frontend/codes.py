"""Every diagnostic the translator can give: its code, which never changes, its severity and its title."""

from __future__ import annotations

from types import MappingProxyType

ERROR, WARNING, NOTE = "error", "warning", "note"

CODES = MappingProxyType(
    {
        # The class
        "AB101": (ERROR, "the source of the class cannot be read"),
        "AB102": (ERROR, "a class inside a program"),
        "AB103": (ERROR, "a program that inherits from another program or from several classes"),
        "AB104": (ERROR, "a decorator on an entry or a helper"),
        "AB105": (ERROR, "a parameter without annotation"),
        "AB106": (ERROR, "an entry without result annotation"),
        "AB107": (ERROR, "an entry with a reserved name"),
        "AB108": (ERROR, "a parameter that is not a plain one"),
        "AB109": (ERROR, "a parameter or state whose name starts with an underscore"),
        "AB110": (ERROR, "a name that shadows one of ours or a builtin that the entry calls"),
        "AB111": (ERROR, "a name that is both a state and something else"),
        "AB112": (ERROR, "a property, static method or class method"),
        "AB113": (ERROR, "a default that does not fit its parameter"),
        "AB114": (WARNING, "a program without entries, or a state that no entry uses"),
        # States and types
        "AB201": (ERROR, "a state of unknown type"),
        "AB202": (ERROR, "a state that cannot be partitioned"),
        "AB203": (ERROR, "a key type that cannot be a key"),
        "AB204": (ERROR, "an annotation that is no value type"),
        "AB205": (ERROR, "a type that cannot be inferred"),
        "AB206": (ERROR, "a value of the wrong type"),
        "AB207": (ERROR, "a variable that is int on one path and float on another"),
        "AB208": (ERROR, "a variable that may have no value"),
        "AB209": (ERROR, "a state partitioned in two ways"),
        "AB210": (ERROR, "a state without the template it needs"),
        "AB211": (ERROR, "a value that may be None"),
        "AB212": (ERROR, "a path without the promised result"),
        # Access to state
        "AB301": (ERROR, "an operation on the whole of a partitioned state"),
        "AB302": (ERROR, "a change of what state handed out"),
        "AB303": (ERROR, "a state used as a value"),
        "AB304": (ERROR, "an assignment to a state outside __init__"),
        "AB305": (ERROR, "a change of configuration"),
        "AB306": (ERROR, "an attribute that the program does not have"),
        "AB307": (ERROR, "state access inside try"),
        "AB308": (ERROR, "state access inside a lambda or a generator expression"),
        "AB309": (ERROR, "a method that the state type does not have, or wrong arguments for it"),
        "AB310": (ERROR, "an attribute set outside __init__"),
        "AB311": (ERROR, "a local write to replicated state"),
        # Multi-valued variables
        "AB401": (ERROR, "a multi-valued condition"),
        "AB402": (ERROR, "a multi-valued loop source"),
        "AB403": (ERROR, "a multi-valued key"),
        "AB404": (ERROR, "a multi-valued value stored or a write with a multi-valued argument"),
        "AB405": (ERROR, "a multi-valued result"),
        "AB406": (ERROR, "a multi-valued element of a container"),
        "AB407": (ERROR, "a variable that is multi-valued on one path and single-valued on another"),
        "AB408": (ERROR, "gather of a single value"),
        "AB409": (ERROR, "a write to partitioned state through everywhere"),
        "AB410": (ERROR, "a multi-valued variable needed after another place was reached"),
        "AB411": (ERROR, "everywhere without state inside, or inside another everywhere"),
        "AB412": (ERROR, "a change of a single value inside everywhere"),
        "AB420": (WARNING, "a value that depends on the number of workers"),
        # Calls and syntax
        "AB501": (ERROR, "syntax that programs do not have"),
        "AB502": (ERROR, "a call of an unknown function"),
        "AB503": (ERROR, "recursion"),
        "AB504": (ERROR, "a clock"),
        "AB505": (ERROR, "randomness"),
        "AB506": (ERROR, "input or output"),
        "AB507": (ERROR, "global or nonlocal"),
        "AB508": (ERROR, "exec, eval and other access to names at run time"),
        "AB509": (ERROR, "an order or number that differs from run to run"),
        "AB510": (ERROR, "a global that can change"),
        "AB511": (ERROR, "one mutable value under two names when it leaves the task"),
        "AB512": (ERROR, "a value that cannot leave the task"),
        "AB513": (ERROR, "a call with arguments that do not fit"),
        # What the translator found
        "AB601": (NOTE, "a winding entry"),
        "AB602": (NOTE, "an entry that runs as Python"),
        # Names reserved for later
        "AB901": (ERROR, "not yet"),
    }
)
