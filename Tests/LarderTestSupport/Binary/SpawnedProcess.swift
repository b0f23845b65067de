import Foundation

/// A child process and the parent's ends of its pipes.
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
        var childEnds: [Int32] = []
        var parentEnds: [Int32] = []
        defer { for end in childEnds { close(end) } }
        do {
            if hasInput {
                let pipe = try Pipe()
                childEnds.append(pipe.readEnd)
                parentEnds.append(pipe.writeEnd)
            } else {
                let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
                guard null >= 0 else { throw OriginError("open /dev/null") }
                childEnds.append(null)
            }
            for _ in 1...2 {
                let pipe = try Pipe()
                childEnds.append(pipe.writeEnd)
                parentEnds.append(pipe.readEnd)
            }
            try plan.setStandardStreams(childEnds)
            if let directory { try plan.setDirectory(directory) }
            pid = try plan.spawn(
                path, [path] + arguments, environment.map { "\($0.key)=\($0.value)" })
        } catch {
            for end in parentEnds { close(end) }
            throw error
        }
        error = parentEnds.removeLast()
        output = parentEnds.removeLast()
        input = parentEnds.popLast()
    }
}
