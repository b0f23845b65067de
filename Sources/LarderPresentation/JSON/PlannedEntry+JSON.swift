import Foundation
import LarderCache
import LarderKit

extension PlannedEntry {
    /// The entry's line in `plan --json`, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("manifest", manifest.sanitizedForTerminal)
        object.set("position", position)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
        object.set("status", statusWord)
        object.set("priority", priority)
        object.set("duplicate", isDuplicate)
        object.set("error", error.map { JSONObject(errorCode: $0.code, message: $0.message) })
        object.set("last_failure", lastFailure?.json)
        object.set("icon_number", icon)
        return object.text
    }
}

extension PastFailure {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object.set("code", code)
        object.set("status", status)
        object.set("failed_at", failedAt.timeIntervalSince1970)
        object.set("count", count)
        return object
    }
}
