import {
  Alert,
  Button,
  Group,
  NumberInput,
  Paper,
  Stack,
  TagsInput,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { takeData } from '../api/client';
import type { components } from '../generated/api';
import { formatBytes } from '../ui/bytes';
import { ConfirmButton } from '../ui/confirm-button';
import { CopyText } from '../ui/copy-text';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { SavedNote } from '../ui/saved-note';
import { Time } from '../ui/time';
import { LIMITS, platformApi, type AccountLimit, type PlatformAccount } from './client';

type Update = components['schemas']['PlatformAccountUpdate'];

/** One account as an administrator of the platform manages it. */
export default function PlatformAccountPage() {
  const { t } = useTranslation();
  const { id = '' } = useParams();
  const path = { account_id: id };
  const account = useQuery({
    queryKey: ['platform', 'account', id],
    queryFn: () =>
      takeData(platformApi.GET('/console/api/platform/accounts/{account_id}', { params: { path } })),
    refetchInterval: LIVE_MS,
  });
  return (
    <>
      <PageHeader
        title={account.data?.name ?? t('account.title')}
        back={{ to: '/platform/accounts', label: t('platform.accounts.title') }}
      >
        <Button component={Link} to={`/${id}`} variant="default">
          {t('platform.account.open')}
        </Button>
      </PageHeader>
      <QueryView query={account}>
        {(found) => (
          <Stack gap="xl" maw={760}>
            <CopyText text={found.id} />
            <Suspension account={found} />
            <NameForm account={found} />
            <LimitsForm account={found} />
            <NamespacesForm account={found} />
          </Stack>
        )}
      </QueryView>
    </>
  );
}

/** Changes the account, and shows the answer at once. */
function useChange(id: string) {
  const queries = useQueryClient();
  const key = ['platform', 'account', id];
  return useMutation({
    mutationFn: (body: Update) =>
      takeData(
        platformApi.PATCH('/console/api/platform/accounts/{account_id}', {
          params: { path: { account_id: id } },
          body,
        }),
      ),
    onSuccess: async (changed) => {
      // A read that began before the change would show the former values again.
      await queries.cancelQueries({ queryKey: key });
      queries.setQueryData(key, changed);
    },
  });
}

function Suspension({ account: { id, name, suspended_at } }: { account: PlatformAccount }) {
  const { t } = useTranslation();
  const change = useChange(id);
  if (suspended_at === null) {
    return (
      <Group>
        <ConfirmButton
          label={t('platform.account.suspend')}
          title={t('platform.account.suspendTitle', { name })}
          text={t('platform.account.suspendText')}
          action={() => change.mutateAsync({ suspended: true })}
        />
      </Group>
    );
  }
  return (
    <Alert color="red" title={t('platform.account.suspended')} variant="light">
      <Stack align="flex-start" gap="sm">
        <Text size="sm">
          {t('platform.account.suspendText')} <Time value={suspended_at} />
        </Text>
        <ProblemAlert error={change.error} />
        <Button loading={change.isPending} onClick={() => change.mutate({ suspended: false })}>
          {t('platform.account.resume')}
        </Button>
      </Stack>
    </Alert>
  );
}

interface SectionProps {
  title: string;
  help: string;
  change: ReturnType<typeof useChange>;
  /** The values of the form. */
  body: () => Update;
  children: ReactNode;
}

/** A form of its own, so that one refused value keeps no other from being saved. */
function Section({ title, help, change, body, children }: SectionProps) {
  const { t } = useTranslation();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate(body());
  };
  return (
    <Paper withBorder p="lg" component="section">
      <form onSubmit={submit} aria-label={title}>
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text size="sm" c="dimmed" mb="sm">
          {help}
        </Text>
        <Stack gap="sm">
          {children}
          <ProblemAlert error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending}>
              {t('common.save')}
            </Button>
            <SavedNote shown={change.isSuccess} />
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}

function NameForm({ account }: { account: PlatformAccount }) {
  const { t } = useTranslation();
  const [name, setName] = useState(account.name);
  return (
    <Section
      title={t('common.name')}
      help={t('platform.account.nameHelp')}
      change={useChange(account.id)}
      body={() => ({ name: name.trim() })}
    >
      <TextInput
        aria-label={t('common.name')}
        required
        maxLength={80}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </Section>
  );
}

function LimitsForm({ account }: { account: PlatformAccount }) {
  const { t, i18n } = useTranslation();
  const [limits, setLimits] = useState<Record<AccountLimit, number | null>>(account.own_limits);
  const show = (limit: AccountLimit, value: number) =>
    limit.endsWith('_bytes') ? formatBytes(value, i18n.language) : value.toLocaleString(i18n.language);
  const describe = (limit: AccountLimit) => {
    const { usage } = account;
    const inEffect = t('platform.account.inEffect', { limit: show(limit, account.limits[limit]) });
    if (!usage || !(limit in usage)) return inEffect;
    const used = show(limit, usage[limit as keyof typeof usage]);
    return `${inEffect} · ${t('platform.account.used', { used })}`;
  };
  return (
    <Section
      title={t('account.limits')}
      help={t('platform.account.limitsHelp')}
      change={useChange(account.id)}
      body={() => ({ limits })}
    >
      {LIMITS.map((limit) => (
        <NumberInput
          key={limit}
          label={t(`account.kinds.${limit}`)}
          description={describe(limit)}
          placeholder={t('platform.account.default')}
          min={limit === 'requests_per_minute' ? 1 : 0}
          allowDecimal={false}
          hideControls
          thousandSeparator={i18n.language === 'en' ? ',' : '.'}
          decimalSeparator={i18n.language === 'en' ? '.' : ','}
          value={limits[limit] ?? ''}
          onChange={(value) => setLimits({ ...limits, [limit]: value === '' ? null : Number(value) })}
        />
      ))}
    </Section>
  );
}

function NamespacesForm({ account }: { account: PlatformAccount }) {
  const { t } = useTranslation();
  const [namespaces, setNamespaces] = useState(account.namespaces);
  return (
    <Section
      title={t('platform.account.namespaces')}
      help={t('platform.account.namespacesHelp')}
      change={useChange(account.id)}
      body={() => ({ namespaces })}
    >
      <TagsInput
        aria-label={t('platform.account.namespaces')}
        placeholder={t('platform.account.addNamespace')}
        value={namespaces}
        onChange={setNamespaces}
        acceptValueOnBlur
      />
    </Section>
  );
}
