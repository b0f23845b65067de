import LarderCore

/// Coil's default `DiskCache`: an empty metadata file and a file with the bytes for each URL. Coil
/// always uses an entry with empty metadata.
///
/// Source: Coil 3.5.0, coil-core/src/commonMain/kotlin/coil3/disk/RealDiskCache.kt and
/// DiskLruCache.kt, coil-network-core/src/commonMain/kotlin/coil3/network/NetworkFetcher.kt
/// (`doFetch`). Coil 2.7.0, coil-base/src/main/java/coil/disk/RealDiskCache.kt and DiskLruCache.kt,
/// coil/fetch/HttpUriFetcher.kt, coil/util/Utils.kt (`SingletonDiskCache`).
struct CoilLayout: KeyedLayout {
    let version: Int
    var folders: [String]
    var journal: JournalForm? { JournalForm(appVersion: version == 2 ? 1 : 3, valueCount: 2) }
    /// Coil 2 stores only successful responses, without their status.
    var storesErrors: Bool { version > 2 }

    init(version: Int) {
        self.version = version
        folders = [version == 2 ? "image_cache" : "coil3_disk_cache"]
    }

    func stem(of url: String) -> String { url.sha256Hex }
    func stem(ofFile name: String) -> String? { journal?.stem(ofFile: name) }
}

/// Glide's default `DiskLruCacheWrapper`, original data (`DataCacheKey`) without a signature.
///
/// Source: Glide 5.0.9, library/src/main/java/com/bumptech/glide/load/engine/DataCacheKey.java,
/// load/model/GlideUrl.java, signature/EmptySignature.java (which adds nothing to the digest),
/// load/engine/cache/SafeKeyGenerator.java and DiskLruCacheWrapper.java, and
/// third_party/disklrucache.
struct GlideLayout: KeyedLayout {
    var folders = ["image_manager_disk_cache"]
    let journal: JournalForm? = JournalForm(appVersion: 1, valueCount: 1)

    func stem(of url: String) -> String { url.sha256Hex }
    func stem(ofFile name: String) -> String? { journal?.stem(ofFile: name) }
}

/// The journal format of Jake Wharton's DiskLruCache, version 1, which Coil and Glide copied.
struct JournalForm: Sendable {
    static let file = "journal"
    /// The library reads this file if the journal is missing.
    static let backup = "journal.bkp"

    /// The version in the journal. The library deletes all entries if it expects a different
    /// version.
    let appVersion: Int
    /// The number of files per key. The last file contains the bytes. The other files are empty.
    let valueCount: Int

    var header: String { "libcore.io.DiskLruCache\n1\n\(appVersion)\n\(valueCount)\n\n" }

    func files(_ stem: String) -> [String] { (0..<valueCount).map { "\(stem).\($0)" } }
    func dataFile(_ stem: String) -> String { "\(stem).\(valueCount - 1)" }
    func emptyFiles(_ stem: String) -> [String] { (0..<valueCount - 1).map { "\(stem).\($0)" } }

    func stem(ofFile name: String) -> String? {
        let stem = String(decoding: name.utf8.prefix(64), as: UTF8.self)
        return stem.isHex(64) && files(stem).contains { name.isSame(as: $0) } ? stem : nil
    }
}
