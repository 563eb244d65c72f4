import { Alert, Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import { CopyText } from '../ui/copy-text';
import { InstancesSelect } from '../ui/instance-select';
import { PageHeader } from '../ui/page-header';
import { ProblemAlert } from '../ui/problem-alert';
import { EventTypesInput, type EventType } from './event-types';
import { VerifyGuide } from './verify-guide';
import type { Endpoint } from './webhooks-page';

export default function CreateEndpointPage() {
  const { t } = useTranslation();
  const { path } = useAccount();
  const [created, setCreated] = useState<Endpoint | null>(null);
  return (
    <>
      <PageHeader
        title={t(created ? 'webhooks.created' : 'webhooks.new')}
        back={{ to: path('webhooks'), label: t('webhooks.title') }}
      />
      {created ? <Created endpoint={created} /> : <CreateForm done={setCreated} />}
    </>
  );
}

function CreateForm({ done }: { done: (endpoint: Endpoint) => void }) {
  const { t } = useTranslation();
  const { gwk, access } = useAccount();
  // The API refuses an endpoint for all numbers to a member who may use only some.
  const isRestricted = access.instance_ids !== null;
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const [types, setTypes] = useState<EventType[]>([]);
  const [instances, setInstances] = useState<string[]>([]);
  const creation = useMutation({
    mutationFn: () => {
      const body = { url: url.trim(), description, event_types: types, instance_ids: instances, headers: {} };
      return gwk.webhookEndpoints.create(body);
    },
    onSuccess: done,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack maw={640}>
        <TextInput
          label={t('webhooks.url')}
          description={t('webhooks.urlHelp')}
          placeholder="https://example.com/webhooks/gwk"
          type="url"
          required
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <EventTypesInput value={types} onChange={setTypes} />
        <InstancesSelect
          description={t(isRestricted ? 'webhooks.restrictedHelp' : 'webhooks.numbersHelp')}
          value={instances}
          onChange={setInstances}
        />
        <TextInput
          label={t('webhooks.description')}
          maxLength={500}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <ProblemAlert error={creation.error} />
        <Group>
          <Button
            type="submit"
            loading={creation.isPending}
            disabled={isRestricted && instances.length === 0}
          >
            {t('common.create')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Created({ endpoint }: { endpoint: Endpoint }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  return (
    <Stack maw={800}>
      <Alert color="teal" title={t('webhooks.secret')} role="status">
        {t('common.shownOnce')}
        <CopyText text={endpoint.secret ?? ''} />
      </Alert>
      <VerifyGuide />
      <Group>
        <Button component={Link} to={path(`webhooks/${endpoint.id}`)}>
          {t('webhooks.open')}
        </Button>
      </Group>
    </Stack>
  );
}
