"""What a path lies on, as the kernel's table of mounts tells."""

import pytest

from pytest_mtp.core.mount_table import file_system, is_network

_MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 0:30 / /home rw - nfs4 host:/home rw,hard
31 30 8:1 / /home/me/scr\\040atch rw - xfs /dev/sdb rw
33 27 0:9 / /mnt/share rw - cifs //host/share rw
34 33 0:10 / /mnt/share rw - tmpfs tmpfs rw
no table at all
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/tmp", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/me/.cache", "nfs4", True),
        ("/homely", "ext4", False),
        ("/home/me/scr atch/x", "xfs", False),
        ("/mnt/share", "tmpfs", False),
    ],
)
def test_the_nearest_and_last_mount_above_a_folder_says_what_it_is_on(path: str, kind: str, *, network: bool) -> None:
    assert file_system(path, _MOUNTS) == kind
    assert is_network(kind) is network


def test_without_a_table_of_mounts_nothing_is_claimed() -> None:
    assert file_system("/tmp", "") is None


@pytest.mark.parametrize("kind", ["nfs", "cifs", "smb3", "9p", "ceph", "lustre", "fuse.sshfs", "fuse.s3fs"])
def test_these_are_on_another_machine(kind: str) -> None:
    assert is_network(kind)


@pytest.mark.parametrize("kind", ["ext4", "tmpfs", "overlay", "fuse.bindfs", "fuseblk", "nfsd"])
def test_these_are_on_this_one(kind: str) -> None:
    assert not is_network(kind)
