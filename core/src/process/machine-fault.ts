/** The machine lacks file handles, disk space, memory or processes. */
const CODES: ReadonlySet<unknown> = new Set([
  ...['EMFILE', 'ENFILE', 'ENOSPC', 'EDQUOT', 'ENOMEM', 'EAGAIN', 'ENOBUFS'],
]);
const MAX_CAUSES = 5;

/** Whether an error is a lack of this machine, which passes: the work is tried again, and no file, host or peer is at fault. */
export function isMachineFault(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > MAX_CAUSES) return false;
  const { code, cause, errors = [] } = error as { code?: unknown; cause?: unknown; errors?: unknown[] };
  return CODES.has(code) || [cause, ...errors].some((inner) => isMachineFault(inner, depth + 1));
}
