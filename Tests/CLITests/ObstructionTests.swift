import Foundation
import LarderTestSupport
import Testing

/// Files, links and directories in place of an object or of a directory of objects. Only the
/// affected entries fail, and a repair moves the obstruction away.
@Suite struct ObstructionTests {
    private func withFilledCache(_ body: (CLIFixture, String, [String]) throws -> Void) async throws
    {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(6)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            try body(larder, manifest, urls)
        }
    }

    /// Expects a prefetch to fail `count` entries because of `subject` and to store all others.
    private func expectObstructedEntries(
        _ subject: String, of count: Int, in larder: CLIFixture, _ manifest: String
    ) throws {
        let run = try larder.prefetch(manifest)
        #expect(run.status == 2, "\(run.finished)")
        #expect(run.summary.failures == ["obstructed": count] && run.summary.unfinished == 0)
        #expect(run.summary.cached + run.summary.fetched == 6 - count)
        let errors = run.lines.compactMap(\.error)
        #expect(
            errors.allSatisfy {
                $0.message.hasPrefix("\(subject): ")
                    && $0.message.hasSuffix(
                        "; to move it to quarantine/: larder verify --repair"
                            + " --allow-private-network --cache \(larder.cache)")
            }, "\(errors)")
        #expect(try larder.temporaries().isEmpty)
    }

    private func expectRepaired(_ larder: CLIFixture, _ manifest: String) throws {
        let repair = try larder.run("verify", "--repair", "--allow-private-network")
        #expect(repair.status == 0 && repair.standardOutput.hasSuffix("\nrepaired\n"), "\(repair)")
        #expect(repair.standardOutput.contains("moved to quarantine/"))
        #expect(try larder.prefetch(manifest).summary.cached == 6)
        #expect(try larder.run("verify").standardOutput.hasSuffix("\nclean\n"))
    }

    @Test(arguments: [false, true])
    func aDirectoryInPlaceOfAnObjectIsRepaired(_ hasRow: Bool) async throws {
        try await withFilledCache { larder, manifest, urls in
            let path = try larder.objectPath(urls[2])
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(
                atPath: path + "/more", withIntermediateDirectories: true)
            if !hasRow { #expect(try larder.run("reindex").status == 2) }
            let subject = String(path.dropFirst(larder.cache.count + 1))
            try expectObstructedEntries(subject, of: 1, in: larder, manifest)
            if hasRow { return try expectRepaired(larder, manifest) }
            // No row names the path any more, but the URL of its object is still known.
            let repair = try larder.run("verify", "--repair", "--allow-private-network")
            #expect(repair.standardOutput.contains("foreign: \(subject): "), "\(repair)")
            #expect(repair.status == 0, "\(repair)")
            #expect(try larder.prefetch(manifest).summary.cached == 6)
            #expect(try larder.run("verify").standardOutput.hasSuffix("\nclean\n"))
        }
    }

    @Test(arguments: [false, true])
    func aFileOrLinkInPlaceOfADirectoryIsRepaired(_ isLink: Bool) async throws {
        try await withFilledCache { larder, manifest, urls in
            let paths = try urls.map { try larder.objectPath($0) }
            let fanOut = String(paths[1].dropLast(65))
            let affected = paths.count { $0.hasPrefix(fanOut + "/") }
            let aside = larder.directory.path("aside")
            try FileManager.default.moveItem(atPath: fanOut, toPath: aside)
            if isLink {
                try FileManager.default.createSymbolicLink(
                    atPath: fanOut, withDestinationPath: aside)
            } else {
                try Data("mine".utf8).write(to: URL(fileURLWithPath: fanOut))
            }
            let subject = String(fanOut.dropFirst(larder.cache.count + 1))
            try expectObstructedEntries(subject, of: affected, in: larder, manifest)
            let verify = try larder.run("verify")
            #expect(verify.status == 2)
            #expect(verify.standardOutput.contains("obstructed: \(subject): "), "\(verify)")
            // The same repair also restores an object with other damage.
            if let other = paths.first(where: { !$0.hasPrefix(fanOut + "/") }) {
                try larder.overwrite(other, with: [1])
            }
            try expectRepaired(larder, manifest)
            #expect(FileManager.default.fileExists(atPath: aside))
        }
    }

    @Test(.enabled(if: Nobody.isPossible, "needs setpriv, or a user other than root"))
    func everyCommandReportsAnUnreadableDirectory() async throws {
        try await withFilledCache { larder, manifest, urls in
            let fanOut = String(try larder.objectPath(urls[1]).dropLast(65))
            let subject = String(fanOut.dropFirst(larder.cache.count + 1))
            chmod(larder.directory.path, 0o777)
            if geteuid() == 0 {
                let owner = try RunningProcess("/bin/chown", ["-R", "65534:65534", larder.cache])
                #expect(try owner.wait().status == 0)
            }
            chmod(fanOut, 0)
            defer { chmod(fanOut, 0o755) }
            func run(_ arguments: String...) throws -> Finished {
                try Nobody.run(larder.binary, arguments + ["--cache", larder.cache])
            }
            let status = try run("status")
            #expect(status.status == 0, "\(status)")
            #expect(status.standardOutput.contains("unreadable 1 directories"), "\(status)")
            let prefetch = try run("prefetch", manifest, "--allow-private-network", "--json")
            #expect(prefetch.status == 2, "\(prefetch)")
            #expect(prefetch.standardOutput.contains("{\"obstructed\":"), "\(prefetch)")
            #expect(prefetch.standardOutput.contains("\"unfinished\":0"), "\(prefetch)")
            let cat = try run("cat", urls[1])
            #expect(cat.standardError.contains("larder: \(larder.cache)/\(subject): "), "\(cat)")
            let verify = try run("verify")
            #expect(verify.status == 2)
            #expect(verify.standardOutput.contains("unreadable: \(subject): "), "\(verify)")
            let copy = try run("snapshot", larder.directory.path("copy"), "--quiet")
            #expect(copy.status == 2)
            #expect(copy.standardError.contains("1 unreadable, not copied"), "\(copy)")
            let evict = try run("evict", "--max-count", "0", "--grace", "0")
            // It evicts all objects and names the directory whose files it could not remove.
            #expect(evict.status == 1, "\(evict)")
            #expect(evict.standardError.contains(subject), "\(evict)")
            #expect(evict.standardOutput.contains("0 objects left"), "\(evict)")
        }
    }
}
