import Foundation
import Pace

@testable import LarderCache

/// What the fuzzer calls with each input: somebody else's index, in a cache whose objects are sound. The first byte
/// says what the rest is.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIndex(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    guard let kind = bytes.first else { return 0 }
    let rest = bytes.dropFirst()
    do {
        let scene = try Scene()
        switch kind % 4 {
        case 0: try scene.put(Array(rest), "index.sqlite")
        case 1: try scene.put(flipped(Scene.index, rest), "index.sqlite")
        case 2: try Grammar(rest).apply(to: scene.path + "/index.sqlite")
        default:
            // The same pages in a log that checks, over those that are sound.
            try scene.put(Log.bytes(of: flipped(Scene.index, rest)), "index.sqlite-wal")
        }
        read(scene)
    } catch {
        fatalError("no cache to begin with: \(error)")
    }
    return 0
}

/// Bytes changed where three of each four in `changes` say, by the fourth.
private func flipped(_ bytes: [UInt8], _ changes: ArraySlice<UInt8>) -> [UInt8] {
    var bytes = bytes
    var rest = changes
    while rest.count >= 4 {
        let place = rest.prefix(3).reduce(0) { $0 << 8 | Int($1) } % bytes.count
        bytes[place] ^= rest[rest.startIndex + 3]
        rest = rest.dropFirst(4)
    }
    return bytes
}

/// Everything that is done with a cache.
private func read(_ scene: Scene) {
    let bytes = scene.indexBytes
    /// Opened by nobody else, and on a disk that does not fail: there is no other reason to refuse.
    func attempt<Value>(_ step: String, _ body: () throws -> Value) -> Value? {
        do {
            // An opening makes connections and takes locks; each of a handful of statements may take a bound of steps.
            return try Pace.keep(bytes, least: 1_000_000_000, body)
        } catch let error as CacheError where [.damaged, .index, .corrupt].contains(error.code) {
            return nil
        } catch {
            fatalError("\(step): \(error)")
        }
    }
    func verify(_ cache: Cache, isQuick: Bool) -> VerifyReport? {
        var options = VerifyOptions()
        options.isQuick = isQuick
        return attempt("verify") { try cache.verify(options) }
    }

    func look(_ cache: Cache) {
        defer { cache.close() }
        _ = attempt("status") { try cache.status() }
        _ = attempt("list") {
            try cache.forEachResource { resource in
                _ = resource.key.utf8.count
                _ = try? cache.bytes(of: resource.object)
            }
        }
        _ = attempt("path") { try cache.resource(Scene.key(0)) }
        _ = attempt("pins") { try cache.forEachPin { _ in } }
        var policy = EvictionPolicy()
        policy.maximumObjects = 1
        policy.isDryRun = true
        _ = attempt("evict") { try cache.evict(policy) }
        _ = verify(cache, isQuick: true)
    }

    // In scopes of their own: a cache that is still held keeps the rebuilding out.
    var isOpened = false
    if let cache = attempt("open", { try Cache.open(at: scene.path) }) {
        isOpened = true
        look(cache)
    } else if let cache = attempt("openDamaged", { try Cache.openDamaged(at: scene.path) }) {
        _ = verify(cache, isQuick: true)
        cache.close()
    }
    if let cache = attempt("create", { try Cache.create(at: scene.path) }) {
        defer { cache.close() }
        _ = attempt("pin") { try cache.pin { add in try add(Scene.key(1)) } }
        _ = attempt("use") { try cache.recordUse(of: Scene.objects.map(\.digest)) }
        if !isOpened { _ = attempt("status") { try cache.status() } }
    }
    // What is rebuilt is whole, whatever it was made from. On a busy machine a queue may hold the last connection, and
    // the directory's lock with it, for moments after it was closed.
    let wait = LockWait(limit: .seconds(5))
    guard let report = attempt("reindex", { try Cache.reindex(at: scene.path, wait: wait) }) else {
        return
    }
    guard report.objects == Scene.objects.count else { fatalError("\(report)") }
    guard let cache = attempt("open again", { try Cache.open(at: scene.path) }) else {
        fatalError("what was rebuilt cannot be opened")
    }
    defer { cache.close() }
    guard let report = verify(cache, isQuick: false), report.isClean else {
        fatalError("what was rebuilt is damaged: \(verify(cache, isQuick: true)?.findings as Any)")
    }
    guard attempt("status again", { try cache.status() })?.totals.objects == Scene.objects.count
    else { fatalError("what was rebuilt has other objects") }
}
