import Foundation
import LarderCache
import LarderKit

extension Resource {
    /// The resource's line in `list --json`, without a line end.
    package var json: String {
        var item = JSONObject()
        item.set("url", shownURL)
        item.set("key", ResourceKey.isApart(key, from: url) ? key.shownAsURL : nil)
        item.set("digest", object.digest.description)
        item.set("bytes", object.size)
        item.set("media_type", object.mediaType)
        item.set("width", object.width)
        item.set("height", object.height)
        item.set("path", object.path)
        item.set("received", receivedAt.timeIntervalSince1970)
        item.set("fresh_until", freshUntil.timeIntervalSince1970)
        item.set("used", object.usedAt.timeIntervalSince1970)
        return item.text
    }
}
