import LarderKit

extension RemoteReport {
    /// One JSON object.
    var json: JSONObject {
        var object = JSONObject()
        object.set("location", location)
        object.set("pulled", pulled)
        object.set("pulled_bytes", pulledBytes)
        object.set("pushed", pushed)
        object.set("pushed_bytes", pushedBytes)
        object.set("present", present)
        object.set("unpushed", unpushed)
        object.set("personal", personal)
        var reasons = JSONObject()
        for (reason, count) in faults.sorted(by: { $0.key < $1.key }) {
            reasons.set(reason, count)
        }
        object.set("faults", reasons)
        object.set("first_fault", firstFault)
        object.set("error", failure)
        return object
    }
}
