import { tracingSettings, type TracingConfig } from '../config/tracing.js';
import { ConfigError, loadConfig } from '../config/load.js';
import { createLogger } from '../process/log.js';
import { openTracer } from './opentelemetry.js';
import { tracing } from './tracing.js';
import { inFakeTime } from '@gwk/test/support/fake-time';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const log = createLogger('tracing', 'silent');
const configOf = (env: Record<string, string> = {}): TracingConfig =>
  loadConfig(tracingSettings, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', ...env });

/** The traceparent of a child span, with `-` instead of new ids. */
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
  ['continues a trace', kept, {}, KNOWN],
  ['does not keep a trace that the caller does not keep', unkept, {}, null],
  ['starts a trace without a parent', null, {}, NEW],
  ['ignores a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`, {}, NEW],
  ['ignores a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`, {}, NEW],
  ['ignores upper case', kept.toUpperCase(), {}, NEW],
  ['ignores other text', 'a trace', {}, NEW],
  ['ignores extra fields of version 00', `${kept}-more`, {}, NEW],
  ['reads the first fields of a later version', `cc-${TRACE}-${PARENT}-01-more`, {}, KNOWN],
  ['ignores version ff', `ff-${TRACE}-${PARENT}-01`, {}, NEW],
  ['ignores other flags', `00-${TRACE}-${PARENT}-03`, {}, KNOWN],
  ['keeps none with always_off', null, { OTEL_TRACES_SAMPLER: 'always_off' }, null],
  ['starts none with parentbased_always_off', null, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, null],
  [
    'continues one with parentbased_always_off',
    kept,
    { OTEL_TRACES_SAMPLER: 'parentbased_always_off' },
    KNOWN,
  ],
  ['keeps all with always_on', unkept, { OTEL_TRACES_SAMPLER: 'always_on' }, KNOWN],
  [
    'keeps none with ratio 0',
    null,
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
    null,
  ],
  ['keeps all with the default ratio', null, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }, NEW],
])('%s', async (_sentence, parent, env, expected) => {
  expect(await goesOn(parent, env)).toBe(expected);
});

test.each([
  ['another protocol', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  ['an unknown sampler', { OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
  ['a ratio above 1', { OTEL_TRACES_SAMPLER_ARG: '1.5' }],
  ['malformed headers', { OTEL_EXPORTER_OTLP_HEADERS: 'secret' }],
])('rejects %s without showing secrets', (_sentence, env) => {
  expect(() => configOf(env)).toThrow(ConfigError);
  expect(() => configOf(env)).toThrow(/^(?!.*=secret)/s);
});

test(
  'closes within 3 s if the collector does not answer',
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

test('creates no spans while tracing is off', async () => {
  await tracing.start(loadConfig(tracingSettings, {}), 'a-test', log);
  expect(tracing.on).toBe(false);
  const span = tracing.root('a request', kept);
  span.set({ a: 1 });
  span.note('something');
  span.end('a fault');
  expect([span.traceparent, tracing.child('a part', kept).traceparent]).toEqual([null, null]);
  await tracing.stop();
});
