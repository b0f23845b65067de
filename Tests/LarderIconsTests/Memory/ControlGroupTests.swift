#if os(Linux)
    import Foundation
    import LarderIcons
    import Testing

    @Suite struct ControlGroupTests {
        private static let host =
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

        /// Membership, mounts, and the directory that they mean.
        @Test(arguments: [
            ("0::/user.slice/app.scope\n", host, "/sys/fs/cgroup/user.slice/app.scope"),
            ("0::/\n", host, "/sys/fs/cgroup"),
            // Beside groups of version 1.
            (
                "9:name=systemd:/\n4:memory:/old\n0::/app\n",
                "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                    + "32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
                "/sys/fs/cgroup/unified/app"
            ),
            // A container that sees the host's groups: its own is what is mounted.
            (
                "0::/docker/abc/app\n",
                "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
                "/sys/fs/cgroup/app"
            ),
            // The first mount shows another group.
            (
                "0::/app\n",
                "30 23 0:26 /other /mnt rw - cgroup2 cgroup rw\n" + host, "/sys/fs/cgroup/app"
            ),
            (
                "0::/a b\n", "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup rw\n",
                "/my groups/a b"
            ),
        ])
        func theDirectoryIsFound(_ membership: String, _ mounts: String, _ directory: String) {
            #expect(
                ControlGroup.directory(membership: membership, mounts: mounts) == directory)
        }

        @Test(arguments: [
            ("", host), ("4:memory:/app\n", host), ("0::/app\n", ""), ("0::/../app\n", host),
            ("0::/app\n", "30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"),
            ("0::/app\n", "30 23 0:26 /apple /sys/fs/cgroup rw - cgroup2 cgroup rw\n"),
            ("0::/app\n", "cgroup2 - cgroup2\n"), ("0::/app\n", "1 2 3 4 5 6 -"),
        ])
        func thereIsNone(_ membership: String, _ mounts: String) {
            #expect(ControlGroup.directory(membership: membership, mounts: mounts) == nil)
        }
    }
#endif
