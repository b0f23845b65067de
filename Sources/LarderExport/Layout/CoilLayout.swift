/// Coil's default `DiskCache`: for each URL an empty file of metadata, which Coil takes for an
/// entry made by hand and always uses, and one with the bytes.
///
/// Source: Coil 3.5.0, coil-core/src/commonMain/kotlin/coil3/disk/RealDiskCache.kt and
/// DiskLruCache.kt, coil-network-core/src/commonMain/kotlin/coil3/network/NetworkFetcher.kt
/// (`doFetch`).
struct CoilLayout: KeyedLayout {
    let folders = ["coil3_disk_cache"]
    let journal: JournalForm? = JournalForm(appVersion: 3, valueCount: 2)

    func stem(of url: String) -> String { url.sha256Hex }

    func stem(ofFile name: String) -> String? { journal?.stem(ofFile: name) }
}
