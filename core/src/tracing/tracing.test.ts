import { tracingSettings, type TracingConfig } from '../config/tracing.js';
import { ConfigError, loadConfig } from '../config/load.js';
import { createLogger } from '../log.js';
import { openTracer } from './opentelemetry.js';
import { tracing } from './tracing.js';
import { inFakeTime } from '@gwk/test/support/fake-time';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const log = createLogger('tracing', 'silent');
const configOf = (env: Record<string, string> = {}): TracingConfig =>
  loadConfig(tracingSettings, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', ...env });

/** What a span that goes on from this tells those after it; `-` in place of ids that it made itself. */
async function goesOn(parent: string | null, env: Record<string, string> = {}): Promise<string | null> {
  const tracer = openTracer(configOf(env), 'a-test', log);
  const { traceparent } = tracer.start('a span', parent, {});
  await tracer.close();
  return (
    traceparent &&
    traceparent.replace(/-[0-9a-f]{16}-/, '---').replace(/[0-9a-f]{32}/, (id) => (id === TRACE ? id : '-'))
  );
}

const KNOWN = `00-${TRACE}---01`;
const NEW = '00-----01';
const kept = `00-${TRACE}-${PARENT}-01`;
const unkept = `00-${TRACE}-${PARENT}-00`;

test.each<[string, string | null, Record<string, string>, string | null]>([
  ['a trace goes on', kept, {}, KNOWN],
  ['what its caller does not keep is not kept', unkept, {}, null],
  ['without one, one begins', null, {}, NEW],
  ['a trace of zeros is none', `00-${'0'.repeat(32)}-${PARENT}-01`, {}, NEW],
  ['a parent of zeros is none', `00-${TRACE}-${'0'.repeat(16)}-01`, {}, NEW],
  ['capitals are none', kept.toUpperCase(), {}, NEW],
  ['words are none', 'a trace', {}, NEW],
  ['more than version 00 has is none', `${kept}-more`, {}, NEW],
  ['a later version begins as 00 does', `cc-${TRACE}-${PARENT}-01-more`, {}, KNOWN],
  ['version ff does not exist', `ff-${TRACE}-${PARENT}-01`, {}, NEW],
  ['other flags are left', `00-${TRACE}-${PARENT}-03`, {}, KNOWN],
  ['none is kept', null, { OTEL_TRACES_SAMPLER: 'always_off' }, null],
  ['none but those of callers', null, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, null],
  ['and theirs', kept, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, KNOWN],
  ['all, whatever callers say', unkept, { OTEL_TRACES_SAMPLER: 'always_on' }, KNOWN],
  ['a part of none', null, { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, null],
  ['a part that is all', null, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }, NEW],
])('%s', async (_sentence, parent, env, expected) => {
  expect(await goesOn(parent, env)).toBe(expected);
});

test.each([
  ['another protocol', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  ['an unknown sampler', { OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
  ['a part of more than all', { OTEL_TRACES_SAMPLER_ARG: '1.5' }],
  ['headers that are none', { OTEL_EXPORTER_OTLP_HEADERS: 'secret' }],
])('%s is refused, and no secret shown', (_sentence, env) => {
  expect(() => configOf(env)).toThrow(ConfigError);
  expect(() => configOf(env)).toThrow(/^(?!.*=secret)/s);
});

test(
  'a collector that does not answer holds up no end for longer than 3 s',
  inFakeTime(async (pass) => {
    let asked = 0;
    const silent = { export: () => void asked++, shutdown: () => Promise.resolve() };
    const tracer = openTracer(configOf(), 'a-test', log, silent);
    tracer.start('a span', null, {}).end();
    let closed = false;
    void tracer.close().then(() => (closed = true));
    await pass(2_999);
    expect([asked, closed]).toEqual([1, false]);
    await pass(1);
    expect(closed).toBe(true);
  }),
);

test('where they are off, spans are nothing, and cost none of their names', async () => {
  await tracing.start(loadConfig(tracingSettings, {}), 'a-test', log);
  expect(tracing.on).toBe(false);
  const span = tracing.root('a request', kept);
  span.set({ a: 1 });
  span.note('something');
  span.end('a fault');
  expect([span.traceparent, tracing.child('a part', kept).traceparent]).toEqual([null, null]);
  await tracing.stop();
});
