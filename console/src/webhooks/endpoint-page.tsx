import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useNavigate, useParams } from 'react-router';
import { useAccount } from '../app/account';
import { ConfirmButton } from '../ui/confirm-button';
import { CopyText } from '../ui/copy-text';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { SavedNote } from '../ui/saved-note';
import { formatTime } from '../ui/time';
import { Deliveries } from './deliveries';
import { EndpointState, type Endpoint } from './webhooks-page';

export default function EndpointPage() {
  const { t } = useTranslation();
  const { id, gwk, path } = useAccount();
  const { endpoint = '' } = useParams();
  const query = useQuery({
    queryKey: [id, 'endpoint', endpoint],
    queryFn: () => gwk.webhookEndpoints.get(endpoint),
    refetchInterval: LIVE_MS,
  });
  const header = (
    <PageHeader title={t('delivery.endpoint')} back={{ to: path('webhooks'), label: t('webhooks.title') }} />
  );
  return (
    <QueryView query={query} header={header}>
      {(found) => <Content endpoint={found} />}
    </QueryView>
  );
}

function Content({ endpoint }: { endpoint: Endpoint }) {
  const { t } = useTranslation();
  const { can, path } = useAccount();
  const { disabled_reason: reason } = endpoint;
  return (
    <>
      <PageHeader
        title={endpoint.url}
        subtitle={endpoint.description}
        back={{ to: path('webhooks'), label: t('webhooks.title') }}
      />
      <Stack>
        <Group>
          <EndpointState endpoint={endpoint} />
          <CopyText text={endpoint.id} />
        </Group>
        {reason !== null && <Alert color="red">{t(`webhooks.reasons.${reason}`)}</Alert>}
        <Text size="sm">
          <b>{t('webhooks.events')}:</b>{' '}
          {endpoint.event_types.length === 0 ? t('webhooks.defaultEvents') : endpoint.event_types.join(', ')}
        </Text>
        {can('webhooks:write') && <Actions endpoint={endpoint} />}
        <Deliveries endpointId={endpoint.id} />
      </Stack>
    </>
  );
}

function Actions({ endpoint }: { endpoint: Endpoint }) {
  const { t, i18n } = useTranslation();
  const { id, gwk, path } = useAccount();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const renew = () => queries.invalidateQueries({ queryKey: [id] });
  const test = useMutation({
    mutationFn: () => gwk.webhookEndpoints.test(endpoint.id),
    onSuccess: renew,
  });
  const toggle = useMutation({
    mutationFn: () => gwk.webhookEndpoints.update(endpoint.id, { enabled: !endpoint.enabled }),
    onSuccess: renew,
  });
  const rotate = useMutation({
    mutationFn: () => gwk.webhookEndpoints.rotateSecret(endpoint.id),
  });
  const remove = async () => {
    await gwk.webhookEndpoints.delete(endpoint.id);
    await queries.invalidateQueries({ queryKey: [id, 'endpoints'] });
    void navigate(path('webhooks'));
  };
  return (
    <Stack>
      <Group>
        <Button loading={test.isPending} onClick={() => test.mutate()} disabled={!endpoint.enabled}>
          {t('webhooks.test')}
        </Button>
        <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate()}>
          {t(endpoint.enabled ? 'webhooks.pause' : 'webhooks.resume')}
        </Button>
        <ConfirmButton
          label={t('webhooks.rotate')}
          title={t('webhooks.rotateTitle')}
          text={t('webhooks.rotateText')}
          action={() => rotate.mutateAsync()}
        />
        <ConfirmButton
          label={t('common.delete')}
          title={t('webhooks.deleteTitle')}
          text={t('webhooks.deleteText')}
          action={remove}
        />
        <SavedNote shown={test.isSuccess} text={t('webhooks.tested')} />
      </Group>
      <ProblemAlert error={test.error ?? toggle.error} />
      {rotate.data && (
        <Alert color="teal" title={t('webhooks.secret')} role="status">
          {t('common.shownOnce')} {t('webhooks.rotated')}{' '}
          {formatTime(rotate.data.previous_expires_at, i18n.language)}
          <CopyText text={rotate.data.secret} />
        </Alert>
      )}
    </Stack>
  );
}
