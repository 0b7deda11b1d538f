"""The files of a checkpoint location: what is durable on disk, and only that.

From below: `location` names files (`local`, `remote`), `sealed` writes small ones, `frames` are the records of a `log`
(`reading` reads it), `snapshots` hold rows, `manifests` say what belongs together, `generations` who may write,
`recovery` what a restore needs, `collection` what nothing needs any more, `report` what is there, `rows` what a state
has in it.

It knows nothing about programs, memory or machines: names, numbers, Arrow record batches and bytes. Nothing is ever
unpickled.
"""
