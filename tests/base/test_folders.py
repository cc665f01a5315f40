from pathlib import Path

import pytest

from polyqa.base import folders
from polyqa.base.errors import PolyqaError
from polyqa.base.folders import home_folder, index_home, user_folder


@pytest.mark.parametrize(
    ("system", "environment", "place"),
    [
        ("linux", {}, "~/.local/share/polyqa"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/polyqa"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "~/Library/Application Support/polyqa"),
        ("win32", {}, "~/AppData/Local/polyqa"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/polyqa"),
    ],
)
def test_each_system_has_its_place_for_a_users_data(
    system: str, environment: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", system)
    assert user_folder() == Path(place).expanduser()


def test_the_environment_goes_before_the_checkout_and_that_before_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    assert home_folder("indexes", in_checkout="here/indexes") == tmp_path / "indexes"
    monkeypatch.delenv("POLYQA_HOME")
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(folders, "_CHECKOUT", tmp_path)
    assert home_folder("indexes", in_checkout="here/indexes") == tmp_path / "here" / "indexes"
    (tmp_path / "pyproject.toml").unlink()
    assert home_folder("indexes", in_checkout="here/indexes") == user_folder() / "indexes"


def test_a_home_folder_that_is_not_known_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for variable, use in (("POLYQA_HOME", index_home), ("XDG_DATA_HOME", user_folder)):
        monkeypatch.setenv(variable, "~nobody-of-this-name/data")
        with pytest.raises(PolyqaError, match=r"^~nobody-of-this-name/data: Could not .*\. Set HOME .* the whole path"):
            use()
