import Foundation

// How fast an app reads icons, beside the plainest code that does the same:
//
//     icon-reads [memory] [disk] [busy] [scroll] [ROUNDS]
//
//   memory   hits of MemoryCache, beside a dictionary with a lock
//   disk     icons from the disk, beside read(2) of the same files
//   busy     how long a read from the disk takes while two other processes store and evict
//   scroll   a million rows end to end, and the memory that takes
//
// Without a part's name, all are run. Each round measures everything once, so that what else the
// machine does meets all alike.

var words = Array(CommandLine.arguments.dropFirst())
let rounds = words.last.flatMap { Int($0) } ?? 7
if words.last.flatMap({ Int($0) }) != nil { words.removeLast() }

switch words.first {
// What `busy` starts beside itself.
case "store": try Disturbance.store(in: words[1])
case "evict": try Disturbance.evict(from: words[1])
default:
    let parts = words.isEmpty ? ["memory", "disk", "busy", "scroll"] : words
    for part in parts {
        switch part {
        case "memory": memoryHits(rounds: rounds)
        case "disk": try await DiskReads.run(rounds: rounds)
        case "busy": try await BusyReads.run()
        case "scroll": try await Scroll.run()
        default:
            print("unknown part: \(part)")
            exit(64)
        }
    }
}
