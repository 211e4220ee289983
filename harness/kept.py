# SPDX-License-Identifier: GPL-2.0
"""What has passed, or was measured, for this code: in a file, so that a run goes on
where it was interrupted, and on another machine if the file is copied there. With
FRESH=1 it starts anew."""

import hashlib
import json
import os

from harness import revision
from harness.common import shown, write_json

FRESH = os.environ.get("FRESH", "") not in ("", "0")


class Kept:
    """A dictionary in a file, of this code and what else `key` says; of other code it
    is empty. Without `of_code` its names say what its values hold for."""

    def __init__(self, path, *key, fresh=FRESH, of_code=True):
        self.path = path
        self.key = hashlib.sha256("\n".join(
            (revision.code() if of_code else "", *map(str, key))).encode()).hexdigest()
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {}
        of_this = not fresh and found.get("code") == self.key
        self.values = found.get("kept", {}) if of_this else {}

    def __str__(self):
        return shown(self.path)

    def get(self, name):
        return self.values.get(name)

    def keep(self, name, value):
        self.values[name] = value
        write_json(self.path, {"code": self.key, "kept": self.values})

    def drop(self):
        self.values = {}
        self.path.unlink(missing_ok=True)
