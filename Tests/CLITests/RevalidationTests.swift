import LarderTestSupport
import Testing

/// Conditional requests for stale entries.
@Suite struct RevalidationTests {
    @Test func anUnchangedEntryIsRevalidated() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
            larder.origin.on("/a") { request in
                request.header("If-None-Match") == "\"1\""
                    ? .notModified
                    : Icons.reply(1).header("ETag", "\"1\"").header("Last-Modified", modified)
                        .header("Cache-Control", "max-age=0")
            }
            let manifest = try larder.manifest(url)
            _ = try larder.prefetch(manifest)
            // Twice, because a 304 without validators must not erase the stored ones.
            for attempt in 2...3 {
                #expect(try larder.run("plan", manifest).standardOutput.hasPrefix("stale "))
                let run = try larder.prefetch(manifest)
                #expect(run.status == 0)
                #expect(run.outcomes == ["revalidated"])
                #expect(run.summary.receivedBytes == 0)
                #expect(try run.line(1).digest == "sha256:" + ReferenceSHA256.hex(Icons.icon(1)))
                #expect(larder.origin.count() == attempt)
                let request = try #require(larder.origin.requests.last)
                #expect(request.header("If-None-Match") == "\"1\"")
                #expect(request.header("If-Modified-Since") == modified)
            }
            #expect(try larder.cat(url) == Icons.icon(1))
            #expect(try larder.verify() == 0)
        }
    }

    @Test func a304WithAMaxAgeMakesAnEntryFreshAgain() async throws {
        try await withFixture { larder in
            larder.origin.on("/a") { request in
                request.header("If-None-Match") == nil
                    ? Icons.reply(1).header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
                    : .notModified.header("Cache-Control", "max-age=3600")
            }
            let manifest = try larder.manifest(larder.origin.url("/a"))
            let outcomes = try (1...3).map { _ in try larder.prefetch(manifest).outcomes }
            #expect(outcomes == [["fetched"], ["revalidated"], ["cached"]])
        }
    }

    @Test func aChangedEntryIsFetched() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a") { request in
                Icons.reply(request.attempt).header("ETag", "\"\(request.attempt)\"")
                    .header("Cache-Control", "no-cache")
            }
            let manifest = try larder.manifest(url)
            _ = try larder.prefetch(manifest)
            #expect(try larder.prefetch(manifest).outcomes == ["fetched"])
            #expect(try larder.cat(url) == Icons.icon(2))
        }
    }

    @Test func theRevalidateOptionSelectsTheEntriesToCheck() async throws {
        try await withFixture { larder in
            larder.origin.on("/a") { request in
                (request.header("If-None-Match") == nil ? Icons.reply(1) : .notModified)
                    .header("ETag", "\"1\"").header("Cache-Control", "max-age=3600")
            }
            larder.origin.on("/b", Icons.reply(2).header("Cache-Control", "no-cache"))
            let manifest = try larder.manifest(larder.origin.url("/a"), larder.origin.url("/b"))
            _ = try larder.prefetch(manifest)
            for (word, outcomes, counts) in [
                ("stale", ["cached", "fetched"], "cached 1, stale 1"),
                ("always", ["revalidated", "fetched"], "stale 2"),
                ("never", ["cached", "cached"], "cached 2"),
            ] {
                let plan = try larder.run("plan", manifest, "--quiet", "--revalidate", word)
                #expect(plan.standardOutput.hasSuffix("; 2 URLs: \(counts)\n"), "\(plan)")
                let run = try larder.prefetch(manifest, options: ["--revalidate", word])
                #expect(run.outcomes == outcomes && run.status == 0)
            }
        }
    }

    @Test func forceDownloadsAllIconsAgain() async throws {
        try await withFixture { larder in
            let cacheControl = "max-age=3600, immutable"
            larder.origin.on("/a") { request in
                request.header("If-None-Match") == nil
                    ? Icons.reply(request.attempt).header("ETag", "\"\(request.attempt)\"")
                        .header("Cache-Control", cacheControl)
                    : .notModified
            }
            larder.origin.on("/b", Icons.reply(7).header("Cache-Control", cacheControl))
            let (a, b) = (larder.origin.url("/a"), larder.origin.url("/b"))
            let manifest = try larder.manifest(a, b, larder.origin.url("/gone"))
            #expect(try larder.prefetch(manifest).outcomes == ["fetched", "fetched", "failed"])
            #expect(try larder.prefetch(manifest).outcomes == ["cached", "cached", "failed"])
            #expect(larder.origin.count() == 3)

            // Damage that a prefetch does not find, because the size is right.
            let damage = [UInt8](repeating: 0, count: Icons.icon(7).count)
            try larder.overwrite(larder.objectPath(b), with: damage)
            let plan = try larder.run("plan", manifest, "--quiet", "--force")
            #expect(plan.standardOutput.hasSuffix("; 3 URLs: missing 3\n"), "\(plan)")
            let run = try larder.prefetch(manifest, options: ["--force"])
            #expect(run.outcomes == ["fetched", "fetched", "failed"])
            #expect(larder.origin.count() == 6)
            for request in larder.origin.requests.suffix(3) {
                #expect(request.header("If-None-Match") == nil)
                #expect(request.header("If-Modified-Since") == nil)
            }
            #expect(try larder.cat(a) == Icons.icon(2))
            #expect(try larder.cat(b) == Icons.icon(7))
        }
    }

    @Test func noStoreIsRespectedWithoutTheStoreAnywayOption() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1).header("Cache-Control", "no-store"))
            let manifest = try larder.manifest(url)
            let run = try larder.prefetch(manifest)
            #expect(run.status == 0)
            #expect(run.outcomes == ["unstored"])
            #expect(try run.line(1).digest == "sha256:" + ReferenceSHA256.hex(Icons.icon(1)))
            #expect(try larder.cat(url) == nil)
            let summary = try larder.binary.run([
                "prefetch", manifest, "--allow-private-network", "--cache", larder.cache,
            ])
            #expect(
                summary.standardOutput.contains(
                    "not stored 1 (no-store; to store: --store-anyway)"), "\(summary)")
            let kept = try larder.prefetch(manifest, options: ["--store-anyway"])
            #expect(kept.outcomes == ["fetched"])
            #expect(try larder.cat(url) == Icons.icon(1))
            #expect(try larder.run("plan", manifest).standardOutput.hasPrefix("stale "))
        }
    }

    @Test func aFailedRevalidationKeepsTheStoredIcon() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1).header("Cache-Control", "max-age=0"))
            let manifest = try larder.manifest(url)
            _ = try larder.prefetch(manifest)
            larder.origin.on("/a", .status(410))
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["failed"])
            #expect(try larder.cat(url) == Icons.icon(1))
        }
    }
}
