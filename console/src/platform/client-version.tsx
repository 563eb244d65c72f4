import {
  Alert,
  Autocomplete,
  Badge,
  Button,
  Code,
  Group,
  Paper,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import type { components } from '../generated/api';
import { ConfirmButton } from '../ui/confirm-button';
import { LIVE_MS } from '../ui/live';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { SavedNote } from '../ui/saved-note';
import { Time } from '../ui/time';
import { platformApi } from './client';

type NetworkVersion = components['schemas']['NetworkVersionOut'];
type KnownVersion = NetworkVersion['versions'][number];

const PATH = '/console/api/platform/network-version';
const KEY = ['platform', 'network-version'];

/** Sets or takes back the pinned version, and shows the answer at once. */
function usePin() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (version: string | null) => takeData(platformApi.PATCH(PATH, { body: { version } })),
    onSuccess: async (changed) => {
      // A read that began before the change would show the former version again.
      await queries.cancelQueries({ queryKey: KEY });
      queries.setQueryData(KEY, changed);
    },
  });
}

/** The client version that engines announce to the network, and its pin. */
export function ClientVersion() {
  const { t } = useTranslation();
  const query = useQuery({
    queryKey: KEY,
    queryFn: () => takeData(platformApi.GET(PATH)),
    refetchInterval: LIVE_MS,
  });
  return (
    <Paper withBorder p="lg" component="section" aria-labelledby="client-version">
      <Title order={2} size="h4" id="client-version">
        {t('platform.clientVersion.title')}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {t('platform.clientVersion.help')}
      </Text>
      <QueryView query={query}>
        {(found) => (
          <Stack>
            <Warnings found={found} />
            <Sources found={found} />
            <KnownVersions found={found} />
            <PinForm found={found} />
          </Stack>
        )}
      </QueryView>
    </Paper>
  );
}

const isRefused = ({ accepted_at, refused_at }: KnownVersion): boolean =>
  refused_at !== null && (accepted_at === null || refused_at > accepted_at);

/** The reason of a failed read in plain words. A newer API may know further ones. */
function explainFault(fault: string, t: TFunction): string {
  return t(`platform.clientVersion.faults.${fault as 'unreachable'}`, { defaultValue: fault });
}

function Warnings({ found: { pinned, served, bundled, last_read, versions } }: { found: NetworkVersion }) {
  const { t } = useTranslation();
  const wanted = pinned?.version ?? served?.version ?? bundled.version;
  const known = versions.find(({ version }) => version === wanted);
  const other = versions.find((each) => each.accepted_at !== null && !isRefused(each));
  const advice = pinned ? 'pinRefused' : other ? 'othersWork' : 'noneWorks';
  const fault = last_read?.fault ?? null;
  return (
    <>
      {known && isRefused(known) && (
        <Alert
          color="red"
          icon={<IconAlertCircle />}
          title={t('platform.clientVersion.refusedTitle', { version: wanted })}
          variant="light"
        >
          {t(`platform.clientVersion.${advice}`, { version: other?.version })}
        </Alert>
      )}
      {last_read && fault !== null && (
        <Alert
          color="orange"
          icon={<IconAlertCircle />}
          title={t('platform.clientVersion.unread')}
          variant="light"
        >
          {explainFault(fault, t)} (<Code>{fault}</Code>, <Time value={last_read.at} />)
        </Alert>
      )}
    </>
  );
}

function Sources({ found: { pinned, served, bundled, bundled_days_behind } }: { found: NetworkVersion }) {
  const { t, i18n } = useTranslation();
  const day = new Date(bundled.day).toLocaleDateString(i18n.language, { timeZone: 'UTC' });
  return (
    <Table aria-label={t('platform.clientVersion.title')}>
      <Table.Tbody>
        <Source name={t('platform.clientVersion.pinned')} version={pinned?.version}>
          {pinned ? (
            <>
              {t('platform.clientVersion.pinnedBy', { by: pinned.by ?? '?' })} <Time value={pinned.at} />
            </>
          ) : (
            t('platform.clientVersion.notPinned')
          )}
        </Source>
        <Source name={t('platform.clientVersion.served')} version={served?.version}>
          {served ? (
            <>
              {t('platform.clientVersion.read')} <Time value={served.read_at} />
            </>
          ) : (
            t('platform.clientVersion.neverRead')
          )}
        </Source>
        <Source name={t('platform.clientVersion.bundled')} version={bundled.version}>
          {t('platform.clientVersion.ofDay', { day })}
          {bundled_days_behind > 0 &&
            `, ${t('platform.clientVersion.behind', { count: bundled_days_behind })}`}
        </Source>
      </Table.Tbody>
    </Table>
  );
}

interface SourceProps {
  name: string;
  version: string | undefined;
  children: ReactNode;
}

function Source({ name, version, children }: SourceProps) {
  return (
    <Table.Tr>
      <Table.Th scope="row">{name}</Table.Th>
      <Table.Td>
        {version !== undefined && <Code>{version}</Code>}
        <Text size="sm" c="dimmed">
          {children}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

function KnownVersions({ found: { versions } }: { found: NetworkVersion }) {
  const { t } = useTranslation();
  if (versions.length === 0) return <Text c="dimmed">{t('platform.clientVersion.noLogin')}</Text>;
  return (
    <Table.ScrollContainer minWidth={320} mah={300}>
      <Table aria-label={t('platform.clientVersion.known')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t('platform.overview.version')}</Table.Th>
            <Table.Th scope="col">{t('platform.clientVersion.accepted')}</Table.Th>
            <Table.Th scope="col">{t('platform.clientVersion.refused')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {versions.map((known) => (
            <Table.Tr key={known.version}>
              <Table.Td>
                <Group gap="xs">
                  <Code>{known.version}</Code>
                  <Verdict known={known} />
                </Group>
              </Table.Td>
              <Table.Td>{known.accepted_at ? <Time value={known.accepted_at} /> : '–'}</Table.Td>
              <Table.Td>{known.refused_at ? <Time value={known.refused_at} /> : '–'}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Verdict({ known }: { known: KnownVersion }) {
  const { t } = useTranslation();
  const [color, text] = isRefused(known)
    ? (['red', 'isRefused'] as const)
    : known.accepted_at === null
      ? (['gray', 'isUntried'] as const)
      : (['teal', 'isAccepted'] as const);
  return (
    <Badge color={color} variant="light" tt="none">
      {t(`platform.clientVersion.${text}`)}
    </Badge>
  );
}

function PinForm({ found: { pinned, versions } }: { found: NetworkVersion }) {
  const { t } = useTranslation();
  const [version, setVersion] = useState('');
  const pin = usePin();
  const unpin = usePin();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    pin.mutate(version.trim(), { onSuccess: () => setVersion('') });
  };
  return (
    <form onSubmit={submit} aria-label={t('platform.clientVersion.pinTitle')}>
      <Stack gap="sm">
        <Autocomplete
          label={t('platform.clientVersion.pinTitle')}
          description={t('platform.clientVersion.pinHelp')}
          placeholder="2.3000.…"
          data={versions.map((known) => known.version)}
          required
          maxLength={40}
          maw={420}
          value={version}
          onChange={setVersion}
        />
        <ProblemAlert error={pin.error} />
        <Group>
          <Button type="submit" loading={pin.isPending}>
            {t('platform.clientVersion.pin')}
          </Button>
          {pinned && (
            <ConfirmButton
              label={t('platform.clientVersion.unpin')}
              title={t('platform.clientVersion.unpinTitle', { version: pinned.version })}
              text={t('platform.clientVersion.unpinText')}
              action={() => unpin.mutateAsync(null)}
            />
          )}
          <SavedNote shown={pin.isSuccess && pinned !== null} />
        </Group>
      </Stack>
    </form>
  );
}
