import Foundation
import Pace

@testable import LarderCache

/// Opens, reads and rebuilds a cache with a foreign index. The first byte of the input selects how
/// the rest becomes an index.
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
            // Changed pages in a write-ahead log of a valid database.
            try scene.put(Log.bytes(of: flipped(Scene.index, rest)), "index.sqlite-wal")
        }
        read(scene)
    } catch {
        fatalError("cannot create the cache: \(error)")
    }
    return 0
}

/// Returns changed bytes. Of each four bytes in `changes`, three are an index, and the fourth is a
/// mask for XOR.
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

private func read(_ scene: Scene) {
    let bytes = scene.indexBytes
    /// Accepts only errors of a damaged index.
    func attempt<Value>(_ step: String, _ body: () throws -> Value) -> Value? {
        do {
            // Opening takes locks and runs a few statements with a limited number of steps each.
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

    // Separate scopes, because an open cache would block the rebuild.
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
        let used = Scene.objects.enumerated().map {
            (row: Int64($0 + 1), digest: $1.digest)
        }
        _ = attempt("use") { try cache.recordUse(of: used) }
        if !isOpened { _ = attempt("status") { try cache.status() } }
    }
    // On a busy machine, a queue can hold the last connection and the directory's lock for a moment
    // after closing.
    let wait = LockWait(limit: .seconds(5))
    guard let report = attempt("reindex", { try Cache.reindex(at: scene.path, wait: wait) }) else {
        return
    }
    guard report.objects == Scene.objects.count else { fatalError("\(report)") }
    guard let cache = attempt("open again", { try Cache.open(at: scene.path) }) else {
        fatalError("the rebuilt index cannot be opened")
    }
    defer { cache.close() }
    guard let report = verify(cache, isQuick: false), report.isClean else {
        let findings = verify(cache, isQuick: true)?.findings
        fatalError("the rebuilt cache is damaged: \(findings as Any)")
    }
    guard attempt("status again", { try cache.status() })?.totals.objects == Scene.objects.count
    else { fatalError("the rebuilt index has other objects") }
}
