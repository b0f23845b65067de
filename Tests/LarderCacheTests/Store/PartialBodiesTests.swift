import Foundation
import LarderTestSupport
import Testing

@testable import LarderCache

@Suite(.timeLimit(.minutes(30))) struct PartialBodiesTests {
    private func keep(_ bytes: [UInt8], in store: Store) throws {
        let body = store.newBody {}
        #expect(try bytes.withUnsafeBytes { try body.append($0) })
        store.partials.keep(
            body, of: "url", validator: "\"1\"", fields: Validators(), totalBytes: nil)
    }

    /// A resumed download would write to the other name's file, too.
    @Test(arguments: [false, true]) func aPartialBodyWithASecondHardLinkIsNotResumed(
        _ isLinked: Bool
    ) throws {
        try withTemporaryDirectory { directory in
            let store = try Cache.create(at: directory.path("cache")).store()
            defer { store.close() }
            let bytes = noise(100_000, seed: 1)
            try keep(bytes, in: store)
            let partials = directory.path("cache/tmp/partial")
            let name = try #require(Tree.names(partials).first)
            let before = try Tree.bytes("\(partials)/\(name)")
            let other = directory.path("other")
            if isLinked { #expect(link("\(partials)/\(name)", other) == 0) }
            let partial = store.partials.take("url")
            #expect((partial == nil) == isLinked)
            if isLinked { #expect(try Tree.bytes(other) == before) }
            #expect(partial?.trailer.count == (isLinked ? nil : 100_000))
        }
    }

    /// The difference between two times can overflow.
    @Test func aPartialBodyWithAnImpossibleTimeIsRemoved() throws {
        try withTemporaryDirectory { directory in
            let first = try Cache.create(at: directory.path("cache")).store()
            try keep(noise(100_000, seed: 1), in: first)
            first.close()
            let partials = directory.path("cache/tmp/partial")
            let name = try #require(Tree.names(partials).first)
            try setTime(of: "\(partials)/\(name)", to: .min)
            let store = try Cache.create(at: directory.path("cache")).store()
            defer { store.close() }
            #expect(!store.partials.has("url"))
            #expect(Tree.names(partials).isEmpty)
        }
    }
}

func setTime(of path: String, to seconds: Int) throws {
    let times = [timespec](repeating: timespec(tv_sec: seconds, tv_nsec: 0), count: 2)
    try #require(utimensat(AT_FDCWD, path, times, 0) == 0)
}
