import LarderCache
import LarderKit

// What went wrong, as every report has it.

extension JSONObject {
    /// - Parameter message: text from outside or ours; made safe to print.
    init(errorCode code: String, message: String) {
        self.init()
        set("code", code)
        set("message", message.sanitizedForTerminal)
    }
}

extension CacheError {
    var json: JSONObject { JSONObject(errorCode: code.rawValue, message: description) }
}
