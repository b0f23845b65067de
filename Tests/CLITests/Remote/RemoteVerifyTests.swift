import Foundation
import LarderTestSupport
import Testing

/// `remote verify` finds every object that does not match its digest, and repairs it.
@Suite(.timeLimit(.minutes(30))) struct RemoteVerifyTests {
    private static let count = 48

    /// Overwrites the objects of these icons with other bytes.
    private func corrupt(_ remote: RemoteFixture, _ numbers: Range<Int>) async throws {
        for number in numbers {
            var bytes = Icons.icon(number)
            switch number % 5 {
            case 0: bytes[.random(in: 0..<bytes.count)] ^= 1 << Int.random(in: 0..<8)
            case 1: bytes.removeLast(.random(in: 1...bytes.count))
            case 2: bytes.append(.random(in: 0...255))
            case 3: bytes = Icons.icon(number + 1)
            default: bytes = []
            }
            try await remote.bucket.put(RemoteName.object(Icons.icon(number)), bytes)
        }
    }

    private func verify(
        _ remote: RemoteFixture, _ options: [String] = [], on machine: String = "none",
        status: Int32
    ) async throws -> [String: JSONValue] {
        let finished = try await remote.run(["verify", "--json"] + options, on: machine)
        #expect(finished.status == status, "\(finished)")
        return try JSONValue.lines(finished.standardOutputBytes)[0]
    }

    private func findings(_ report: [String: JSONValue]) -> Set<String> {
        Set(report["findings"]?.array?.compactMap { $0.object?["digest"]?.string } ?? [])
    }

    private func digests(_ numbers: Range<Int>) -> Set<String> {
        Set(numbers.map { "sha256:" + ReferenceSHA256.hex(Icons.icon($0)) })
    }

    @Test(arguments: S3ServerKind.installed)
    func everyCorruptObjectIsFoundAndRepaired(_ kind: S3ServerKind) async throws {
        try await withRemote(kind) { remote in
            let manifest = try remote.manifest(Self.count)
            _ = try await remote.prefetch(manifest, on: "one")
            try await corrupt(remote, 0..<30)
            for number in 30..<36 {
                try await remote.bucket.delete(RemoteName.object(Icons.icon(number)))
            }
            let report = try await verify(remote, status: 2)
            #expect(findings(report) == digests(0..<36))
            #expect(report["corrupt"]?.integer == 30 && report["missing"]?.integer == 6)
            #expect(report["references"]?.integer == Self.count)

            // Three workers find the same objects, each in its own part.
            var found: Set<String> = []
            for worker in 0..<3 {
                let part = try await remote.run(["verify", "--json", "--shard", "\(worker)/3"])
                let new = findings(try JSONValue.lines(part.standardOutputBytes)[0])
                #expect(found.isDisjoint(with: new))
                found.formUnion(new)
            }
            #expect(found == digests(0..<36))

            // The repair uploads from this machine's cache.
            remote.origin.resetLog()
            let repaired = try await verify(remote, ["--repair"], on: "one", status: 0)
            #expect(repaired["repaired"]?.integer == 36, "\(repaired)")
            try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
            for number in 0..<36 {
                let icon = Icons.icon(number)
                #expect(try await remote.bucket.get(RemoteName.object(icon)) == icon)
            }
            #expect(remote.origin.count() == 0)
        }
    }

    /// If the repairing machine does not have an object, it removes the object and its references.
    /// A later prefetch fetches the icon again, or another machine's push uploads it.
    @Test(.needsRclone, arguments: share(of: [true, false]))
    func objectsThatCannotBeRestoredAreRemoved(_ pushes: Bool) async throws {
        try await withRemote { remote in
            let manifest = try remote.manifest(Self.count)
            _ = try await remote.prefetch(manifest, on: "one")
            // This machine has only the first ten icons.
            _ = try await remote.prefetch(remote.manifest(10), on: "two")
            try await corrupt(remote, 0..<30)
            remote.origin.resetLog()
            let report = try await verify(remote, ["--repair"], on: "two", status: 0)
            let repairs = report["findings"]?.array?.compactMap { $0.object?["repair"]?.string }
            #expect(repairs?.count { $0 == "restored" } == 10, "\(report)")
            #expect(repairs?.count { $0 == "removed" } == 20, "\(report)")
            try await remote.expectSoundRemote(
                objects: Self.count - 20, references: Self.count - 20)
            if pushes {
                let push = try await remote.run(["push", "--json"], on: "one")
                #expect(push.status == 0, "\(push)")
                #expect(try PrefetchRun.summary(of: push).remote?.pushed == 20, "\(push)")
                #expect(remote.origin.count() == 0)
            } else {
                let run = try await remote.prefetch(manifest, on: "three")
                #expect(run.status == 0 && run.summary.fetched == 20, "\(run.finished)")
                #expect(try run.remote().faults.isEmpty)
                #expect(remote.origin.count() == 20)
            }
            try await remote.expectSoundRemote(objects: Self.count, references: Self.count)
            let other = try await remote.prefetch(manifest, on: "four")
            #expect(other.summary.pulled == Self.count, "\(other.finished)")
        }
    }

    @Test(.needsRclone) func anObjectDamagedInTheCacheTooIsNotUploaded() async throws {
        try await withRemote { remote in
            _ = try await remote.prefetch(remote.manifest(3), on: "one")
            let name = RemoteName.object(Icons.icon(1))
            let file = remote.cache("one") + "/" + name
            try await corrupt(remote, 1..<2)
            let bytes = Array(Icons.icon(1).reversed())
            chmod(file, 0o600)
            #expect(FileManager.default.createFile(atPath: file, contents: Data(bytes)))
            let report = try await verify(remote, ["--repair"], on: "one", status: 0)
            let finding = report["findings"]?.array?.first?.object
            #expect(finding?["repair"]?.string == "removed", "\(report)")
            #expect(try await remote.bucket.get(name) == nil)
            try await remote.expectSoundRemote(objects: 2, references: 2)
        }
    }

    @Test(.needsRclone) func anEmptyRemoteIsReported() async throws {
        try await withRemote { remote in
            let location = remote.bucket.location
            for command in [["verify"], ["evict", "--max-age", "1h"]] {
                let all = try await remote.run(command)
                #expect(
                    all.standardOutput == "no icons at \(location)\n", "\(all)")
                let part = try await remote.run(command + ["--shard", "0/8"])
                #expect(
                    part.standardOutput
                        == "no icons in this part of \(location)\n", "\(part)")
                #expect(all.status == 0 && part.status == 0)
                let quiet = try await remote.run(command + ["--quiet"])
                #expect(quiet.status == 0 && quiet.standardOutput.isEmpty, "\(quiet)")
            }
            _ = try await remote.prefetch(remote.manifest(1), on: "one")
            for command in [["verify"], ["evict", "--max-age", "1h"]] {
                let run = try await remote.run(command)
                #expect(run.standardOutput.contains("1 object,"), "\(run)")
            }
        }
    }

    @Test(.needsRclone) func remoteVerifySuggestsTheRepairCommand() async throws {
        try await withRemote { remote in
            _ = try await remote.prefetch(remote.manifest(3), on: "one")
            let clean = try await remote.run(["verify"])
            #expect(clean.standardOutput.hasSuffix(": clean\n"), "\(clean)")
            try await remote.bucket.delete(RemoteName.object(Icons.icon(1)))
            let found = try await remote.run(["verify"])
            let last = found.standardOutput.split(separator: "\n").last
            #expect(
                last?.contains(
                    ": larder remote verify --remote \(remote.bucket.location) --repair --cache ")
                    == true, "\(found)")
            let repaired = try await remote.run(["verify", "--repair"], on: "one")
            #expect(repaired.status == 0, "\(repaired)")
            #expect(!repaired.standardOutput.contains("--repair"), "\(repaired)")
        }
    }
}
