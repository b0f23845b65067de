import Foundation
import LarderTestSupport
import Testing

/// The permissions of files and directories that commands create under various umasks.
@Suite struct UmaskTests {
    private func run(
        _ arguments: [String], umask: String, _ larder: CLIFixture
    ) throws -> Finished {
        try RunningProcess(
            "/bin/sh",
            ["-c", "umask \(umask); exec \"$0\" \"$@\"", larder.binary.path] + arguments
                + ["--cache", larder.cache]
        ).wait()
    }

    @Test(arguments: ["000", "022", "077", "222", "777"])
    func objectsAreReadOnlyAndDirectoriesAreNot(_ umask: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            let arguments = ["prefetch", manifest, "--allow-private-network", "--quiet"]
            let run = try run(arguments, umask: umask, larder)
            #expect(run.status == 0, "\(run)")
            var objects = 0
            for case let name as String in FileManager.default.enumerator(atPath: larder.cache)! {
                var status = stat()
                #expect(lstat("\(larder.cache)/\(name)", &status) == 0)
                let mode = status.st_mode & 0o777
                if status.st_mode & S_IFMT == S_IFDIR {
                    #expect(mode & 0o700 == 0o700, "\(name) has the mode \(String(mode, radix: 8))")
                    #expect(mode & 0o002 == 0, "\(name) has the mode \(String(mode, radix: 8))")
                } else if name.hasPrefix("objects/") {
                    objects += 1
                    #expect(mode == 0o444, "\(name) has the mode \(String(mode, radix: 8))")
                }
            }
            #expect(objects == 3)
            #expect(try larder.run("verify").status == 0)
            let remove = try RunningProcess("/bin/rm", ["-r", "--", larder.cache]).wait()
            #expect(remove.status == 0, "\(remove)")
        }
    }

    private static let umasks = ["000", "002", "027", "077", "777"]

    /// The umask affects only the permissions of the root directory.
    @Test(arguments: umasks) func modesDoNotDependOnTheUmask(_ umask: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            let (seed, gallery) = (larder.directory.path("seed"), larder.directory.path("gallery"))
            for arguments in [
                ["prefetch", manifest, "--allow-private-network", "--exclusive", "night"],
                ["pin", larder.origin.url("/0")], ["evict", "--max-count", "2"], ["verify"],
                ["export", seed, "--layout", "files", "--copy"],
                ["export", gallery, "--layout", "gallery"],
                ["snapshot", larder.directory.path("copy")], ["reindex"],
            ] {
                let run = try run(arguments, umask: umask, larder)
                #expect(run.status == 0, "\(arguments): \(run)")
            }
            var seen: Set<String> = []
            for root in [larder.cache, larder.directory.path("copy"), seed, gallery] {
                for case let name as String in FileManager.default.enumerator(atPath: root)! {
                    var status = stat()
                    #expect(lstat("\(root)/\(name)", &status) == 0)
                    let mode = status.st_mode & 0o777
                    let isObject = name.hasPrefix("objects/") && root != seed
                    let expected: mode_t =
                        switch status.st_mode & S_IFMT {
                        case S_IFDIR: 0o755
                        case _ where name == "reserve": 0o600
                        default: isObject ? 0o444 : 0o644
                        }
                    #expect(
                        mode == expected, "\(root)/\(name) has the mode \(String(mode, radix: 8))")
                    seen.insert(name)
                }
            }
            let files = [
                "locks/night", "runs/prefetch.json", "runs/verify.json", "index.sqlite",
                "index.snapshot.sqlite", "CACHEDIR.TAG", "index.json", "index.html",
            ]
            #expect(seen.isSuperset(of: files), "\(seen)")
        }
    }
}
