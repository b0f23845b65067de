import LarderKit

extension EntryResult {
    /// The entry's line in a report: one JSON object, without a line end.
    package var json: String {
        var object = JSONObject()
        object.set("manifest", manifest.sanitizedForTerminal)
        object.set("position", position)
        object.set("name", name.sanitizedForTerminal)
        object.set("url", url?.shownAsURL)
        object.set("outcome", outcome.rawValue)
        object.set("digest", digest?.description)
        object.set("bytes", bytes)
        object.set("media_type", attributes.mediaType)
        object.set("width", attributes.width)
        object.set("height", attributes.height)
        object.set("attempts", attempts)
        object.set("seconds", seconds)
        object.set(
            "error", problem.map { JSONObject(errorCode: $0.code, message: $0.message) })
        object.set("icon_number", icon)
        return object.text
    }
}
