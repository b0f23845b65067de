import LarderCache
import LarderKit

extension Resource {
    /// The resource's line in `list`: digest, size, media type and URL, separated by tabs.
    package var text: String {
        let url = shownURL
        return "\(object.digest)\t\(object.size)\t\(object.mediaType ?? "-")\t\(url)"
    }
}
