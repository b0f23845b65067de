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
