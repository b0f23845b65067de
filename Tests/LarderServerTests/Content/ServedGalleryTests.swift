import Foundation
import LarderExport
import LarderServer
import LarderTestSupport
import NIOCore
import Synchronization
import Testing

@testable import LarderServer

@Suite(.timeLimit(.minutes(30))) struct ServedGalleryTests {
    /// The gallery depends on the index and the manifests. The test changes each of them.
    @Test func theGalleryIsMadeAgainOnlyAfterAChange() async throws {
        try await withGallery { gallery, icons, directory in
            let first = try Self.description(gallery)
            for _ in 0..<3 {
                icons.refresh()
                #expect(gallery.description().bytes == first.bytes)
            }
            try ServerFixture.fill(
                directory.path("cache"), with: ["http://a.example/2.png": noise(200)])
            icons.refresh()
            // This call starts a new gallery and does not return the old one.
            #expect(Self.isNotYet(gallery.description()))
            let second = try Self.description(gallery)
            #expect(second.bytes != first.bytes)
            try Self.manifest(["http://a.example/3.png"], in: directory)
            #expect(try Self.description(gallery, unlike: second).bytes != second.bytes)
        }
    }

    /// A slow page gets all its files even if other pages cause new galleries.
    @Test func aGalleryPageThatIsLoadingGetsItsFiles() async throws {
        try await withGallery { gallery, icons, directory in
            let first = try Self.description(gallery)
            let part = try #require(Self.parts(first).first)
            // It must be sent from a file: in memory, many slow clients would take gigabytes.
            guard case .file = gallery.text(of: part)?.body else {
                return #expect(Bool(false), "a part in memory")
            }
            var last = first
            for number in 2..<8 {
                // The page loads its files one after another.
                #expect(gallery.text(of: part) != nil, "\(number)")
                try ServerFixture.fill(
                    directory.path("cache"),
                    with: ["http://a.example/\(number).png": noise(100 + number)])
                icons.refresh()
                last = try Self.description(gallery, unlike: last)
                #expect(Self.parts(last).first != part)
            }
            #expect(gallery.text(of: part)?.isUnchanging == true)
        }
    }

    @Test func onlyAFewGalleriesAreKept() async throws {
        try await withGallery { gallery, icons, directory in
            var last = try Self.description(gallery)
            var parts = Self.parts(last)
            for number in 2..<8 {
                try ServerFixture.fill(
                    directory.path("cache"),
                    with: ["http://a.example/\(number).png": noise(100 + number)])
                icons.refresh()
                last = try Self.description(gallery, unlike: last)
                parts += Self.parts(last)
            }
            #expect(parts.count == 7)
            #expect(parts.map { gallery.text(of: $0) != nil }.count { $0 } == 4)
            #expect(try gallery.text(of: #require(parts.last)) != nil)
        }
    }

    /// A failed attempt takes time, so it is not repeated for each request.
    @Test func aGalleryThatCannotBeMadeIsTriedOnce() async throws {
        let problems = Problems()
        try await withGallery(factor: 1_000_000, onProblem: problems.add) { gallery, _, directory in
            try Data("{".utf8).write(to: URL(fileURLWithPath: directory.path("apps.json")))
            var text = gallery.description()
            while Self.isNotYet(text) { text = gallery.description() }
            for _ in 0..<100 { #expect(gallery.description().bytes == text.bytes) }
        }
        #expect(problems.all.count == 1 && problems.all[0].hasPrefix("cannot build the gallery: "))
    }

    @Test func theLastGalleryIsShownIfANewOneCannotBeMade() async throws {
        let problems = Problems()
        try await withGallery(
            leastLifetime: .milliseconds(100), onProblem: problems.add
        ) { gallery, _, directory in
            let first = try Self.description(gallery)
            try Data("{".utf8).write(to: URL(fileURLWithPath: directory.path("apps.json")))
            var isShown = false
            while !isShown {
                let text = gallery.description()
                let isFirst = text.bytes == first.bytes
                try #require(isFirst || Self.isNotYet(text))
                isShown = isFirst && !problems.all.isEmpty
            }
            #expect(problems.all[0].hasSuffix("; the last version is still shown"))
        }
    }

    // MARK: - Helpers

    private static func isNotYet(_ text: GalleryText) -> Bool {
        text.bytes == ByteBuffer(bytes: GalleryFile.notYet.bytes)
    }

    /// Runs `body` with a gallery that is made again as soon as its lifetime allows.
    private func withGallery(
        leastLifetime: TimeAmount = .nanoseconds(0), factor: Int = 0,
        onProblem: @escaping @Sendable (String) -> Void = { Issue.record("\($0)") },
        _ body: @escaping @Sendable (ServedGallery, IconStore, TemporaryDirectory) throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let cache = directory.path("cache")
            try ServerFixture.fill(cache, with: ["http://a.example/1.png": noise(100)])
            try Self.manifest(["http://a.example/1.png"], in: directory)
            var configuration = ServerConfiguration(cache: cache)
            configuration.manifests = [
                .init(name: "apps.json", source: .file(directory.path("apps.json")))
            ]
            let icons = try ServerFixture.icons(cache)
            icons.refresh()
            let gallery = ServedGallery(
                icons, configuration, leastLifetime: leastLifetime, lifetimeFactor: factor,
                log: ServerLog(onProblem: onProblem))
            try await onThreadOfItsOwn { try body(gallery, icons, directory) }
        }
    }

    private static func manifest(_ urls: [String], in directory: TemporaryDirectory) throws {
        try JSONSerialization.data(withJSONObject: urls.map { ["icon": $0] })
            .write(to: URL(fileURLWithPath: directory.path("apps.json")), options: .atomic)
    }

    /// Requests the description, as a page does, until it is made and differs from `last`.
    private static func description(
        _ gallery: ServedGallery, unlike last: GalleryText? = nil
    ) throws -> GalleryText {
        while true {
            let text = gallery.description()
            if text.digest != nil, text.digest != last?.digest { return text }
            try #require(text.digest == nil, "the gallery is not made again")
        }
    }

    private static func parts(_ text: GalleryText) -> [String] {
        String(buffer: text.bytes).matches(of: /gallery\/icons-[0-9a-f]+-\d+\.js/)
            .map { String($0.output) }
    }
}
