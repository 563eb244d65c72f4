import {
  Alert,
  Button,
  Group,
  Loader,
  Paper,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { useAccount } from '../../app/account';
import { PageHeader } from '../../ui/page-header';
import { ProblemAlert } from '../../ui/problem-alert';
import { QueryView } from '../../ui/query-view';
import { useInstance, type Instance } from '../queries';
import { CodeView } from './code-view';
import { Connected } from './connected';
import { PairingSteps } from './pairing-steps';
import { PasskeyView } from './passkey-view';
import { usePairing, type Pairing, type PairingRequest } from './use-pairing';

export default function PairingPage() {
  const { t } = useTranslation();
  const { path } = useAccount();
  const { number = '' } = useParams();
  const instance = useInstance(number);
  const header = (
    <PageHeader title={t('number.pair')} back={{ to: path('numbers'), label: t('numbers.title') }} />
  );
  return (
    <QueryView query={instance} header={header}>
      {(found) => (
        <>
          <PageHeader
            title={t('pairing.title', { name: found.name })}
            back={{ to: path(`numbers/${number}`), label: found.name }}
          />
          <Pairings instance={found} />
        </>
      )}
    </QueryView>
  );
}

const OPEN: PairingRequest = {};
const QR: PairingRequest = { method: 'qr' };

function Pairings({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const [request, setRequest] = useState<PairingRequest | null>(OPEN);
  const [method, setMethod] = useState<'qr' | 'code'>('qr');
  const pairing = usePairing(instance.id, request);
  const select = (value: 'qr' | 'code') => {
    setMethod(value);
    setRequest(value === 'qr' ? QR : null);
  };
  if (pairing.phase === 'connected') {
    return <Connected instance={instance} linked={pairing.linked} restart={pairing.restart} />;
  }
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xl">
      <Paper withBorder p="lg">
        <Stack align="center">
          <SegmentedControl
            aria-label={t('pairing.method')}
            value={method}
            onChange={select}
            data={[
              { value: 'qr', label: t('pairing.qr') },
              { value: 'code', label: t('pairing.code') },
            ]}
          />
          {method === 'code' && request === null ? (
            <PhoneForm ask={(phone) => setRequest({ method: 'code', phone })} />
          ) : (
            <Progress
              instance={instance}
              pairing={pairing}
              edit={method === 'code' ? () => setRequest(null) : null}
            />
          )}
        </Stack>
      </Paper>
      <PairingSteps method={method} />
    </SimpleGrid>
  );
}

interface ProgressProps {
  instance: Instance;
  pairing: Pairing & { restart: () => void };
  /** Returns to the form of the phone number; null for a QR code. */
  edit: (() => void) | null;
}

function Progress({ instance, pairing, edit }: ProgressProps) {
  const { t } = useTranslation();
  if (pairing.phase === 'failed') {
    return (
      <Stack w="100%">
        {pairing.failure && <Failure {...pairing.failure} />}
        <ProblemAlert error={pairing.error} />
        <Button
          leftSection={<IconRefresh size={16} />}
          onClick={edit && pairing.error ? edit : pairing.restart}
        >
          {t('pairing.again')}
        </Button>
      </Stack>
    );
  }
  if (pairing.phase === 'passkey' && pairing.passkey)
    return <PasskeyView instance={instance} passkey={pairing.passkey} />;
  if (pairing.phase === 'open' && pairing.code) return <CodeView code={pairing.code} />;
  return (
    <Group mih={300} role="status">
      <Loader size="sm" />
      <Text>{t(pairing.phase === 'paired' ? 'pairing.paired' : 'pairing.opening')}</Text>
    </Group>
  );
}

const REASONS = [
  'codes_unread',
  'passkey_required',
  'passkey_refused',
  'passkey_expired',
  'passkey_unsupported',
  'passkey_interrupted',
  'refused_by_the_network',
  'signature_refused',
  'no_code_given',
  'code_refused',
  'too_many_codes',
  'version_rejected_405',
  'version_rejected_409',
  'timed_out',
  'connection_closed',
] as const;

function Failure({ reason, detail }: { reason: string; detail: string }) {
  const { t } = useTranslation();
  const known = REASONS.find((one) => one === reason);
  return (
    <Alert color="red" role="alert" title={t('pairing.failed')}>
      {known ? t(`pairing.reasons.${known}`) : detail}
    </Alert>
  );
}

function PhoneForm({ ask }: { ask: (phone: string) => void }) {
  const { t } = useTranslation();
  const [phone, setPhone] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask(phone.replaceAll(/\D/g, ''));
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('pairing.phone')}
          description={t('pairing.phoneHelp')}
          placeholder="55 11 98765-4321"
          type="tel"
          autoComplete="tel"
          required
          value={phone}
          onChange={(event) => setPhone(event.currentTarget.value)}
        />
        <Button type="submit">{t('pairing.ask')}</Button>
      </Stack>
    </form>
  );
}
