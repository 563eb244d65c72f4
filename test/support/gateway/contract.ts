import { ContractChecker, type Seen } from '../api/contract/checker.js';
import { record } from '../api/contract/sightings.js';
import type { OpenApiDocument } from '@gwk/api/openapi/document';
import { runGwkJson } from './gwk-command.js';
import { baseEnvironment } from '../program.js';

let loading: Promise<ContractChecker> | undefined;

/** That of the built code, which the processes under test run. */
async function load(): Promise<ContractChecker> {
  return new ContractChecker(await runGwkJson<OpenApiDocument>(['openapi'], baseEnvironment()));
}

/** @throws Error where the description of the interface does not know the answer */
export async function checkAnswer(seen: Seen): Promise<void> {
  const checker = await (loading ??= load());
  const sighting = checker.check(seen);
  if (sighting) record(sighting);
}
