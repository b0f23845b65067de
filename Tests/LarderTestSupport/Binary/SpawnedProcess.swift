import Foundation

/// A child and this process's ends of its pipes.
struct SpawnedProcess {
    let pid: Int32
    let input: Int32?
    let output: Int32
    let error: Int32

    init(
        _ path: String, _ arguments: [String], hasInput: Bool, environment: [String: String],
        directory: String?
    ) throws {
        var plan = try SpawnPlan()
        defer { plan.destroy() }
        var theirs: [Int32] = []
        var ours: [Int32] = []
        defer { for end in theirs { close(end) } }
        do {
            if hasInput {
                let pipe = try Pipe()
                theirs.append(pipe.readEnd)
                ours.append(pipe.writeEnd)
            } else {
                let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
                guard null >= 0 else { throw OriginError("open /dev/null") }
                theirs.append(null)
            }
            for _ in 1...2 {
                let pipe = try Pipe()
                theirs.append(pipe.writeEnd)
                ours.append(pipe.readEnd)
            }
            try plan.setStandardStreams(theirs)
            if let directory { try plan.setDirectory(directory) }
            pid = try plan.spawn(
                path, [path] + arguments, environment.map { "\($0.key)=\($0.value)" })
        } catch {
            for end in ours { close(end) }
            throw error
        }
        error = ours.removeLast()
        output = ours.removeLast()
        input = ours.popLast()
    }
}
