/** Reads the output of `npm audit --json`. Any other output counts as not scanned. */
export function judgeNpm(text) {
  let report;
  try {
    // Some npm versions print text before the JSON.
    report = JSON.parse(text.slice(Math.max(0, text.indexOf('{'))));
  } catch {
    return { result: 'not scanned', why: 'npm gave no report' };
  }
  const total = report?.metadata?.vulnerabilities?.total;
  if (typeof total !== 'number') return { result: 'not scanned', why: errorIn(report) };
  if (total === 0) return { result: 'nothing found' };
  const faults = Object.values(report.vulnerabilities ?? {}).map(
    ({ name, severity, range, fixAvailable }) =>
      `${severity}: ${name} ${range}${fixAvailable ? ', a fix is available' : ''}`,
  );
  return { result: 'found', why: faults.sort().join('\n') };
}

function errorIn(report) {
  const said = report?.error?.summary ?? report?.message ?? report?.error?.code;
  return said ? String(said).split('\n')[0] : 'npm gave no report';
}

/** Reads the result of trivy or grype. Both also exit with 1 on errors, so only listed vulnerabilities count as found. */
export function judgeScan({ status, stdout, stderr }) {
  if (status === 0) return { result: 'nothing found' };
  const said = `${stdout ?? ''}${stderr ?? ''}`.trim();
  if (/CVE-|GHSA-/.test(said)) return { result: 'found', why: said };
  return { result: 'not scanned', why: said.split('\n').at(-1) || 'the scanner gave no report' };
}

/** @param results of all scans; an empty list is no success */
export function sumUp(results) {
  const count = (result) => results.filter((one) => one === result).length;
  const [found, missed, clean] = [count('found'), count('not scanned'), count('nothing found')];
  const line = `audit: ${clean} clean, ${found} with findings, ${missed} not scanned`;
  if (found > 0) return { code: 1, line };
  if (missed > 0 || clean === 0) return { code: 3, line: `${line}: not passed` };
  return { code: 0, line: `${line}: passed` };
}
