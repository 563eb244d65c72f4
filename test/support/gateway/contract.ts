import { ContractChecker, type Seen } from '../api/contract/checker.js';
import { record } from '../api/contract/seen-answers.js';
import type { OpenApiDocument } from '@gwk/api/openapi/document';

let loading: Promise<ContractChecker> | undefined;

/** Loads the OpenAPI document that the process under test serves. All gateways of a run serve the same one. */
async function load(baseUrl: string): Promise<ContractChecker> {
  const answer = await fetch(new URL('/openapi.json', baseUrl));
  return new ContractChecker((await answer.json()) as OpenApiDocument);
}

/** @throws Error if the OpenAPI document does not describe the response */
export async function checkAnswer(baseUrl: string, seen: Seen): Promise<void> {
  const checker = await (loading ??= load(baseUrl));
  const seenAnswer = checker.check(seen);
  if (seenAnswer) record(seenAnswer);
}
