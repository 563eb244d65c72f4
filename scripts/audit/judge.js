/** What `npm audit --json` says. Whatever is no report of an audit means that there was none. */
export function judgeNpm(text) {
  let report;
  try {
    // Some versions say a word before it.
    report = JSON.parse(text.slice(Math.max(0, text.indexOf('{'))));
  } catch {
    return { verdict: 'not reached', why: 'npm gave no report' };
  }
  const total = report?.metadata?.vulnerabilities?.total;
  if (typeof total !== 'number') return { verdict: 'not reached', why: excuseIn(report) };
  if (total === 0) return { verdict: 'nothing found' };
  const faults = Object.values(report.vulnerabilities ?? {}).map(
    ({ name, severity, range, fixAvailable }) =>
      `${severity}: ${name} ${range}${fixAvailable ? ', a fix is available' : ''}`,
  );
  return { verdict: 'found', why: faults.sort().join('\n') };
}

function excuseIn(report) {
  const said = report?.error?.summary ?? report?.message ?? report?.error?.code;
  return said ? String(said).split('\n')[0] : 'npm gave no report';
}

/** How trivy or grype ended: both end with 1 for faults of their own too, and only what lists a vulnerability has found one. */
export function judgeScan({ status, stdout, stderr }) {
  if (status === 0) return { verdict: 'nothing found' };
  const said = `${stdout ?? ''}${stderr ?? ''}`.trim();
  if (/CVE-|GHSA-/.test(said)) return { verdict: 'found', why: said };
  return { verdict: 'not reached', why: said.split('\n').at(-1) || 'it gave no report' };
}

/** @param verdicts of all that was to be looked at; none is no success either */
export function sumUp(verdicts) {
  const count = (verdict) => verdicts.filter((one) => one === verdict).length;
  const [found, missed, clean] = [count('found'), count('not reached'), count('nothing found')];
  const line = `audit: ${clean} clean, ${found} with findings, ${missed} not reached`;
  if (found > 0) return { code: 1, line };
  if (missed > 0 || clean === 0) return { code: 3, line: `${line}: not passed` };
  return { code: 0, line: `${line}: passed` };
}
