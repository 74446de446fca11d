"""Whether there is a Java for Spark to run on."""

from __future__ import annotations

import os
import shutil

from headrace.errors import OptionError


def need_java() -> None:
    """PySpark's message for a missing Java is a Java one; say it plainly, before anything is started."""
    home = os.environ.get("JAVA_HOME")
    found = os.access(f"{home}/bin/java", os.X_OK) if home else shutil.which("java") is not None
    if not found:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on PATH"
        raise OptionError(
            f"Spark needs Java 17 or newer, and {where}. Install one (Debian, Ubuntu: apt-get install "
            "openjdk-17-jre-headless, or openjdk-21-jre-headless on newer releases) or point JAVA_HOME to one"
        )
