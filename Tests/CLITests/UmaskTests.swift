import Foundation
import LarderTestSupport
import Testing

/// What a run makes has its proper permissions, whatever its umask is.
@Suite struct UmaskTests {
    @Test(arguments: ["000", "022", "077", "222", "777"])
    func objectsAreReadOnlyAndDirectoriesAreNot(_ umask: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            let arguments = [
                "prefetch", manifest, "--allow-private-network", "--quiet", "--cache", larder.cache,
            ]
            let run = try RunningProcess(
                "/bin/sh",
                ["-c", "umask \(umask); exec \"$0\" \"$@\"", larder.binary.path] + arguments
            ).wait()
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
}
