import Foundation
import LarderCore
import LarderTestSupport
import LarderTesting
import Testing

/// The parameter `manifest` of ``OfflineIcons``.
@Suite struct LockedIconsTests {
    private static let notes = "https://icons.example/notes.png"
    private static let clock = "https://icons.example/clock.png"

    private static func entry(
        _ url: String, _ bytes: [UInt8], size: Int? = nil, key: String? = nil
    ) -> String {
        let digest = Data(Digest(of: bytes).bytes).base64EncodedString()
        let key = key.map { #""key":"\#($0)","# } ?? ""
        return #"{"name":"App","icon":"\#(url)",\#(key)"integrity":"sha256-\#(digest)","#
            + #""size":\#(size ?? bytes.count)}"#
    }

    @Test func onlyIconsOfTheLockAreAnswered() async throws {
        try await withCache([Self.notes: icon(1), Self.clock: icon(2)]) { cache in
            let inline = Self.entry("data:image/png;base64,AA==", [0])
            let lock = try cache.write("[\n\(Self.entry(Self.notes, icon(1))),\n\(inline)\n]\n")
            let icons = try OfflineIcons(cache: cache.url, manifest: lock)
            #expect(try await icons.data(Self.notes) == icon(1))
            try icons.finish()
            // This icon is cached.
            await #expect(throws: URLError.self) { try await icons.data(Self.clock) }
            #expect(icons.missing.first?.reason.contains("is not in icons.lock.json") == true)
        }
    }

    @Test(arguments: [entry(notes, icon(2)), entry(notes, icon(1), size: 1)])
    func anIconWithOtherBytesIsMissing(_ entry: String) async throws {
        try await withCache([Self.notes: icon(1)]) { cache in
            let lock = try cache.write("[\(Self.entry(Self.notes, icon(1))), \(entry)]")
            let icons = try OfflineIcons(cache: cache.url, manifest: lock)
            await #expect(throws: URLError.self) { try await icons.data(Self.notes) }
            let reason = try #require(icons.missing.first?.reason)
            #expect(reason.contains("is cached with bytes that do not match the lock"))
            #expect(reason.contains("`larder prefetch \(lock.path) --cache \(cache.url.path)`"))
        }
    }

    /// The command also works in another directory, and with a space in a path.
    @Test func theSuggestedCommandNamesItsFilesForAShell() async throws {
        try await withTemporaryDirectory { directory in
            let cache = try OfflineCache(directory, name: "my cache", [:])
            let lock = try cache.write(
                "[\(Self.entry(Self.notes, icon(1)))]", to: "my icons.lock.json")
            let icons = try OfflineIcons(cache: cache.url, manifest: lock)
            await #expect(throws: URLError.self) { try await icons.data(Self.notes) }
            let command = "`larder prefetch '\(lock.path)' --cache '\(cache.url.path)'`"
            let reason = try #require(icons.missing.first?.reason)
            #expect(reason.contains(command), "\(reason)")
        }
    }

    @Test func anIconWithAKeyIsFoundByItsKey() async throws {
        try await withCache(["key:app-1": icon(1)]) { cache in
            let url = "https://icons.example/i.png?Signature=1"
            let lock = try cache.write("[\(Self.entry(url, icon(1), key: "app-1"))]")
            let icons = try OfflineIcons(cache: cache.url, manifest: lock)
            #expect(try await icons.data(url) == icon(1))
        }
    }

    @Test(
        arguments: [
            "", "https://icons.example/notes.png\n", "[1]", #"{"apps": []}"#,
            #"[{"icon": "https://a.example/", "size": 1}]"#, "[",
        ])
    func aManifestInAnotherFormIsAnError(_ text: String) async throws {
        try await withCache([:]) { cache in
            let lock = try cache.write(text)
            let error = #expect(throws: OfflineIconsError.self) {
                try OfflineIcons(cache: cache.url, manifest: lock)
            }
            #expect(error?.code == .manifest)
            #expect(error?.subject == lock.path)
        }
    }

    @Test func aManifestThatDoesNotExistIsAnError() async throws {
        try await withCache([:]) { cache in
            let error = #expect(throws: OfflineIconsError.self) {
                try OfflineIcons(
                    cache: cache.url, manifest: URL(fileURLWithPath: cache.directory.path("none")))
            }
            #expect(error?.code == .manifest)
        }
    }
}
