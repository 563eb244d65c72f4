import { buildSeccompFilter } from './seccomp.js';

const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;
const ALLOWED = 0x7fff0000;
const ERRNO = 0x00050000;

/** Runs the filter as the kernel does. Returns `allowed` or the number of the error. */
function run(architecture: 'x64' | 'arm64', number: number, argument = [0, 0], audit?: number) {
  const filter = buildSeccompFilter(architecture)!;
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit ?? (architecture === 'x64' ? X64 : ARM64), 4);
  argument.forEach((value, index) => data.writeUInt32LE(value, 16 + 8 * index));
  let register = 0;
  for (let at = 0; ; at += 8) {
    const [operation, operand] = [filter.readUInt16LE(at), filter.readUInt32LE(at + 4)];
    if (operation === 0x06) return operand === ALLOWED ? 'allowed' : operand - ERRNO;
    if (operation === 0x20) register = data.readUInt32LE(operand);
    else if (operation === 0x54) register = (register & operand) >>> 0;
    else at += 8 * filter.readUInt8(at + (holds(operation, register, operand) ? 2 : 3));
  }
}

function holds(operation: number, register: number, operand: number): boolean {
  if (operation === 0x15) return register === operand;
  if (operation === 0x35) return register >= operand;
  if (operation === 0x45) return (register & operand) !== 0;
  throw new Error(`unknown operation ${operation}`);
}

const EPERM = 1;
const ENOSYS = 38;
const THREAD = 0x3d0f00;
const FORK = 0x01200011;
const VFORK = 0x4111;

test.each<[string, calls: [x64: number, arm64: number], argument: number[], string | number]>([
  ['read', [0, 63], [], 'allowed'],
  ['execve', [59, 221], [], 'allowed'],
  ['socket', [41, 198], [], EPERM],
  ['a pair of streams', [53, 199], [1, 0x80001], 'allowed'],
  ['a pair of datagram sockets', [53, 199], [1, 0x80002], EPERM],
  ['a signal to the own group', [62, 129], [0], 'allowed'],
  ['a signal to another process', [62, 129], [1], EPERM],
  ['clone of a thread', [56, 220], [THREAD], 'allowed'],
  ['clone as fork', [56, 220], [FORK], 'allowed'],
  ['clone as vfork', [56, 220], [VFORK], 'allowed'],
  ['clone into a user namespace', [56, 220], [0x10000011], EPERM],
  ['clone into a mount namespace', [56, 220], [0x00020011], EPERM],
  ['clone into a network namespace', [56, 220], [0x40000011], EPERM],
  ['clone into a process namespace', [56, 220], [0x20000011], EPERM],
  ['clone into a namespace of cgroups', [56, 220], [0x02000011], EPERM],
  ['clone3', [435, 435], [], ENOSYS],
  ['unshare', [272, 97], [], EPERM],
  ['mount', [165, 40], [], EPERM],
  ['fsopen', [430, 430], [], EPERM],
  ['move_mount', [429, 429], [], EPERM],
  ['chroot', [161, 51], [], EPERM],
])('decides about %s', (_, [x64, arm64], argument, expected) => {
  expect([run('x64', x64, argument), run('arm64', arm64, argument)]).toEqual([expected, expected]);
});

test('refuses the calls of other interfaces', () => {
  expect(run('x64', 0x40000000)).toBe(EPERM);
  expect(run('x64', 0, [], 0x40000003)).toBe(EPERM);
  expect(buildSeccompFilter('riscv64')).toBeNull();
});
