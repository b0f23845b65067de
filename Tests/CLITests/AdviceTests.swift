import Foundation
import LarderTestSupport
import Testing

/// Messages that say what to do next.
@Suite struct AdviceTests {
    @Test(arguments: [
        (
            ["--cache", "c", "status"],
            "'--cache' belongs after the command, for example: larder status --cache"
        ),
        (
            ["--json", "remote", "push"],
            "'--json' belongs after the command, for example: larder remote push --json"
        ),
        (
            ["remote", "--remote=s3://b/secret", "pull"],
            "'--remote' belongs after the command, for example: larder remote pull --remote"
        ),
        (
            ["--cache=secret"],
            "'--cache' belongs after the command, for example: larder prefetch --cache"
        ),
        (
            ["verify", "a.json"],
            "Unexpected argument 'a.json': a manifest is named after --manifest"
        ),
        (
            ["export", "out", "a.json", "--layout", "files"],
            "Unexpected argument 'a.json': a manifest is named after --manifest"
        ),
        (["evict", "a.json"], "Unexpected argument 'a.json': a manifest is named after --keep"),
        (
            ["evict", "--max-size", "2", "GB"],
            "Unexpected argument 'GB': write 2GB without a space"
        ),
        // A size in days would be refused.
        (
            ["evict", "--max-size", "2", "d"],
            "Unexpected argument 'd': a manifest is named after --keep"
        ),
        (["--nosuch", "status"], "Unknown option '--nosuch'"),
        (["status", "a.json"], "Unexpected argument 'a.json'"),
    ])
    func misplacedWordsGetAdvice(_ arguments: [String], _ message: String) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64, "\(finished)")
        #expect(finished.standardError.hasPrefix("Error: \(message)\nUsage: "), "\(finished)")
        #expect(!finished.standardError.contains("secret"), "\(finished)")
    }

    @Test(arguments: [
        ("--max-size", "2 GB", "write 2GB without a space"),
        ("--max-age", "1h 30m", "write 1h30m without a space"),
        ("--max-size", "99999999999GB", "at most 9223372036854775807 bytes"),
        // A size in days would be refused.
        ("--max-size", "2 d", "at most 9223372036854775807 bytes"),
    ])
    func unreadableQuantitiesGetAdvice(
        _ option: String, _ value: String, _ advice: String
    ) throws {
        let finished = try LarderBinary().run(["evict", option, value])
        #expect(finished.status == 64, "\(finished)")
        let complaint = finished.standardError.prefix { $0 != "\n" }
        #expect(complaint.contains("'\(value)'") && complaint.hasSuffix(advice), "\(finished)")
    }

    @Test func anEvictionWithoutALimitSuggestsOne() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let advice = "\nno limit was given, so only leftovers are removed; add one, such as"
            let evict = try larder.run("evict")
            #expect(evict.status == 0, "\(evict)")
            #expect(evict.standardOutput.hasSuffix("\(advice) --max-size 2GB\n"), "\(evict)")
            for options in [["--max-size", "2GB"], ["--only", manifest], ["--quiet"], ["--json"]] {
                let evict = try larder.run(arguments: ["evict"] + options)
                #expect(evict.status == 0, "\(evict)")
                #expect(!evict.standardOutput.contains("no limit"), "\(evict)")
            }
        }
    }

    @Test func moreFreeSpaceThanTheDiskHasIsRefusedWithItsSize() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let words = "larder: --min-free must be at most the size of the cache's file system, "
            let evict = try larder.run("evict", "--min-free", "9000000TB")
            #expect(evict.status == 64, "\(evict)")
            #expect(evict.standardError.hasPrefix(words), "\(evict)")
            #expect(evict.standardError.hasSuffix(" bytes\n"), "\(evict)")
            let size = String(evict.standardError.dropFirst(words.count).prefix { $0.isNumber })
            let next = try larder.run("evict", "--dry-run", "--min-free", size)
            #expect(next.status != 64, "\(next)")
        }
    }
}
