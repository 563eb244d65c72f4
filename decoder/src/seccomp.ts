type SystemCall = readonly [x64: number, arm64: number];

/** A job needs no socket. io_uring could open sockets without the call `socket`. */
const SOCKETS: Record<string, SystemCall> = {
  socket: [41, 198],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
};

/** Reading, writing, tracing and signalling other processes of the same user. */
const OTHER_PROCESSES: Record<string, SystemCall> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  pidfd_send_signal: [424, 424],
  tkill: [200, 130],
  tgkill: [234, 131],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  shmget: [29, 194],
  shmat: [30, 196],
  semget: [64, 190],
  semop: [65, 193],
  msgget: [68, 186],
  msgsnd: [69, 189],
  msgrcv: [70, 188],
};

/** The runner ends a job by its process group, so a job may not leave it. */
const LEAVING_THE_GROUP: Record<string, SystemCall> = { setpgid: [109, 154], setsid: [112, 157] };

/** Parts of the kernel that a job never needs and that had many faults. */
const KERNEL: Record<string, SystemCall> = {
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  perf_event_open: [298, 241],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  unshare: [272, 97],
  setns: [308, 268],
};

/** A job keeps its view of files. In a user namespace of its own it could otherwise mount any file system of the kernel. */
const MOUNTS: Record<string, SystemCall> = {
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
};

const REFUSED = Object.values({
  ...SOCKETS,
  ...OTHER_PROCESSES,
  ...LEAVING_THE_GROUP,
  ...KERNEL,
  ...MOUNTS,
});
const CLONE: SystemCall = [56, 220];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NEW_NAMESPACES = 0x7e020000;
const CLONE3: SystemCall = [435, 435];
const SOCKETPAIR: SystemCall = [53, 199];
const KILL: SystemCall = [62, 129];
const AUDIT_ARCHITECTURE: SystemCall = [0xc000003e, 0xc00000b7];

/** Offsets in struct seccomp_data; both architectures are little-endian. */
const DATA = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index };
/** Numbers of the x32 interface of x86-64 have this bit. */
const X32 = 0x40000000;
const STREAM = 1;
const TYPE_WITHOUT_FLAGS = 0xf;

/** Operation, instructions to skip if it holds, and if not, operand: an instruction of classic BPF. */
type Instruction = readonly [operation: number, skip: number, otherwise: number, operand: number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const mask = (bits: number): Instruction => [0x54, 0, 0, bits];
const skipUnlessEqual = (value: number, skip: number): Instruction => [0x15, 0, skip, value];
const skipBelow = (value: number, skip: number): Instruction => [0x35, 0, skip, value];
const skipWithout = (bits: number, skip: number): Instruction => [0x45, 0, skip, bits];
const ALLOW: Instruction = [0x06, 0, 0, 0x7fff0000];
/** Fails with EPERM. */
const REFUSE: Instruction = [0x06, 0, 0, 0x00050001];
/** Fails with ENOSYS, as on a kernel without the call. */
const UNKNOWN: Instruction = [0x06, 0, 0, 0x00050026];

/** The filter of the system calls of a job, for `setpriv --seccomp-filter`. Null: for an unknown architecture. */
export function buildSeccompFilter(architecture: string): Buffer | null {
  const column = ['x64', 'arm64'].indexOf(architecture) as 0 | 1 | -1;
  if (column === -1) return null;
  return assemble([
    load(DATA.architecture),
    // Calls of another interface have other numbers.
    [0x15, 1, 0, AUDIT_ARCHITECTURE[column]],
    REFUSE,
    load(DATA.number),
    skipBelow(X32, 1),
    REFUSE,
    ...REFUSED.flatMap((call) => [skipUnlessEqual(call[column], 1), REFUSE]),
    // Its flags are in memory, which a filter cannot read. C libraries then use `clone`.
    skipUnlessEqual(CLONE3[column], 1),
    UNKNOWN,
    skipUnlessEqual(CLONE[column], 4),
    load(DATA.argument(0)),
    skipWithout(NEW_NAMESPACES, 1),
    REFUSE,
    ALLOW,
    // libuv gives a child process pairs of streams. A datagram socket could send to another address.
    skipUnlessEqual(SOCKETPAIR[column], 5),
    load(DATA.argument(1)),
    mask(TYPE_WITHOUT_FLAGS),
    skipUnlessEqual(STREAM, 1),
    ALLOW,
    REFUSE,
    // 0 is the own process group.
    skipUnlessEqual(KILL[column], 4),
    load(DATA.argument(0)),
    skipUnlessEqual(0, 1),
    ALLOW,
    REFUSE,
    ALLOW,
  ]);
}

function assemble(instructions: readonly Instruction[]): Buffer {
  const code = Buffer.alloc(8 * instructions.length);
  for (const [at, [operation, skip, otherwise, operand]] of instructions.entries()) {
    code.writeUInt16LE(operation, 8 * at);
    code.writeUInt8(skip, 8 * at + 2);
    code.writeUInt8(otherwise, 8 * at + 3);
    code.writeUInt32LE(operand, 8 * at + 4);
  }
  return code;
}
