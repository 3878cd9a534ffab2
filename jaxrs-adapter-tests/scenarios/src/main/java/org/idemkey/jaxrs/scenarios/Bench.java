// SPDX-License-Identifier: Apache-2.0
package org.idemkey.jaxrs.scenarios;

import jakarta.ws.rs.ClientErrorException;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.FormParam;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.QueryParam;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.core.StreamingOutput;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.StringWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.idemkey.IdempotencyContext;
import org.idemkey.jaxrs.Idempotent;
import org.idemkey.jaxrs.scenarios.Filters.Enveloped;
import org.idemkey.jaxrs.scenarios.Filters.Marked;
import org.idemkey.jaxrs.scenarios.Filters.Zipped;
import org.idemkey.jaxrs.scenarios.Filters.ZippedOnDemand;
import org.jspecify.annotations.Nullable;

/** Resource methods of every ordinary kind. Each counts its executions by the request's key. */
@Path("bench")
public final class Bench {

    static final String KEY = "Idempotency-Key";

    /** Longer than what a runtime buffers before it sends anything (8 KiB in Jersey). */
    static final String LONG_EVENT = "data: " + "1".repeat(10_000) + "\n\n";

    private final Ledger ledger;

    /** A bench whose executions are counted by the ledger. */
    Bench(Ledger ledger) {
        this.ledger = ledger;
    }

    /** An ordinary answer. */
    @POST
    @Path("created")
    @Idempotent
    public Response created(@HeaderParam(KEY) @Nullable String key, String order) {
        return Response.created(URI.create("/payments/" + ledger.execute(key)))
                .type(MediaType.APPLICATION_JSON)
                .header("X-Tag", "one")
                .header("X-Tag", "two")
                .entity("{\"order\": \"" + order + "\"}")
                .build();
    }

    /** The same without protection. */
    @POST
    @Path("plain")
    public String plain(@HeaderParam(KEY) @Nullable String key) {
        return "execution " + ledger.execute(key);
    }

    /** No entity and no Response. */
    @POST
    @Path("nothing")
    @Idempotent
    public void nothing(@HeaderParam(KEY) @Nullable String key) {
        ledger.execute(key);
    }

    /** A status and nothing else. */
    @POST
    @Path("status/{status}")
    @Idempotent
    public Response status(@HeaderParam(KEY) @Nullable String key, @PathParam("status") int status) {
        return Response.status(status)
                .header("X-Execution", ledger.execute(key))
                .build();
    }

    /** An entity of no bytes. */
    @POST
    @Path("empty/{status}")
    @Idempotent
    @Produces(MediaType.TEXT_PLAIN)
    public Response empty(@HeaderParam(KEY) @Nullable String key, @PathParam("status") int status) {
        return Response.status(status)
                .header("X-Execution", ledger.execute(key))
                .entity("")
                .build();
    }

    /** Any bytes, from any bytes. */
    @POST
    @Path("bytes")
    @Idempotent
    @Produces(MediaType.APPLICATION_OCTET_STREAM)
    public byte[] bytes(@HeaderParam(KEY) @Nullable String key, byte[] body) {
        ledger.execute(key);
        return body;
    }

    /** The body as a stream. */
    @POST
    @Path("input")
    @Idempotent
    @Produces(MediaType.APPLICATION_OCTET_STREAM)
    public byte[] input(@HeaderParam(KEY) @Nullable String key, InputStream body) throws IOException {
        ledger.execute(key);
        return body.readAllBytes();
    }

    /** The body as a stream that is read while the answer is written. */
    @POST
    @Path("pipe")
    @Idempotent
    @Produces(MediaType.APPLICATION_OCTET_STREAM)
    public StreamingOutput pipe(@HeaderParam(KEY) @Nullable String key, InputStream body) {
        ledger.execute(key);
        return body::transferTo;
    }

    /** The body as text. */
    @POST
    @Path("reader")
    @Idempotent
    @Produces(MediaType.TEXT_PLAIN)
    public String reader(@HeaderParam(KEY) @Nullable String key, Reader body) throws IOException {
        ledger.execute(key);
        StringWriter text = new StringWriter();
        body.transferTo(text);
        return text.toString();
    }

    /** A form's parameters. */
    @POST
    @Path("form")
    @Idempotent
    @Consumes(MediaType.APPLICATION_FORM_URLENCODED)
    @Produces("text/plain;charset=UTF-8")
    public String form(
            @HeaderParam(KEY) @Nullable String key,
            @QueryParam("q") @Nullable String query,
            @FormParam("a") @Nullable String a,
            @FormParam("b") List<String> b) {
        ledger.execute(key);
        return query + " " + a + " " + b;
    }

    /** A form as a whole. */
    @POST
    @Path("form-map")
    @Idempotent
    @Consumes(MediaType.APPLICATION_FORM_URLENCODED)
    @Produces("text/plain;charset=UTF-8")
    public String formMap(@HeaderParam(KEY) @Nullable String key, MultivaluedMap<String, String> form) {
        ledger.execute(key);
        return form.getFirst("a") + " " + new ArrayList<>(form.getOrDefault("b", List.of()));
    }

    /** A verb that is protected because it is annotated. */
    @PUT
    @Path("put")
    @Idempotent
    public String put(@HeaderParam(KEY) @Nullable String key) {
        return "execution " + ledger.execute(key);
    }

    /** Without a key it runs. */
    @POST
    @Path("optional")
    @Idempotent(required = false, retention = "PT48H", lease = "PT90S")
    public String optional(
            @HeaderParam(KEY) @Nullable String key,
            @HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context) {
        return "execution " + ledger.execute(key) + (context == null ? ", unprotected" : "");
    }

    /** By another set of settings. */
    @POST
    @Path("variant")
    @Idempotent(variant = "canonical", maxRequestBytes = 100, maxResponseBytes = 10)
    public String variant(@HeaderParam(KEY) @Nullable String key, String body) {
        ledger.execute(key);
        return body;
    }

    /** What a handler can know of its claim. */
    @POST
    @Path("context")
    @Idempotent
    @Produces(MediaType.TEXT_PLAIN)
    public String context(@HeaderParam(Idempotent.CONTEXT) IdempotencyContext context) {
        return context.key().value() + " " + context.attempt() + " " + context.downstreamKey("charge");
    }

    /** What stands in the parameter where nothing is claimed. */
    @GET
    @Path("context")
    @Produces(MediaType.TEXT_PLAIN)
    public String noContext(@HeaderParam(Idempotent.CONTEXT) @Nullable IdempotencyContext context) {
        return context == null ? "none" : "forged";
    }

    /** Whether the thread is tied to the claim, in the method and while its answer is written. */
    @POST
    @Path("tied/{status}")
    @Idempotent
    public Response tied(@HeaderParam(KEY) String key, @PathParam("status") int status) {
        boolean here = isTied(key);
        StreamingOutput entity = out -> ledger.note(key, here + " " + isTied(key));
        return Response.status(status).entity(entity).type("text/plain").build();
    }

    /** Whether the thread is tied to anything at all. */
    @GET
    @Path("tied")
    @Produces(MediaType.TEXT_PLAIN)
    public String tied() {
        return ScriptedStore.TIED.get() == null ? "no" : "yes";
    }

    private static boolean isTied(String key) {
        return ScriptedStore.TIED.get() != null
                && ScriptedStore.TIED.get().key().value().equals(key);
    }

    /** Ends as it is told. */
    @POST
    @Path("throw/{what}")
    @Idempotent
    public String throwing(@HeaderParam(KEY) @Nullable String key, @PathParam("what") String what) {
        ledger.execute(key);
        switch (what) {
            case "mapped" -> throw new Filters.Declined();
            case "wae" ->
                throw new WebApplicationException(
                        Response.status(409).entity("taken").build());
            case "wae-bare" -> throw new ClientErrorException(410);
            case "error" -> throw new LinkageError("an error, not an exception");
            default -> throw new IllegalStateException("the resource's own exception");
        }
    }

    /** An entity that nobody can write. */
    @POST
    @Path("unwritable")
    @Idempotent
    @Produces("application/x-nobody")
    public Object unwritable(@HeaderParam(KEY) @Nullable String key) {
        ledger.execute(key);
        return new Thread();
    }

    /** As many bytes as are asked for, in pieces, flushed. */
    @POST
    @Path("stream/{size}")
    @Idempotent
    @Produces(MediaType.APPLICATION_OCTET_STREAM)
    public StreamingOutput stream(@HeaderParam(KEY) @Nullable String key, @PathParam("size") int size) {
        ledger.execute(key);
        return out -> {
            for (int i = 0; i < size; i += 1000) {
                out.write(new byte[Math.min(1000, size - i)]);
                out.flush();
            }
        };
    }

    /** Fails in the middle of its answer. */
    @POST
    @Path("stream-fails")
    @Idempotent
    @Produces(MediaType.APPLICATION_OCTET_STREAM)
    public StreamingOutput streamFails(@HeaderParam(KEY) @Nullable String key) {
        ledger.execute(key);
        return out -> {
            out.write(new byte[10]);
            throw new IllegalStateException("while the answer is written");
        };
    }

    /** Events, written by hand. */
    @POST
    @Path("event-text")
    @Idempotent
    @Produces(MediaType.SERVER_SENT_EVENTS)
    public StreamingOutput eventText(@HeaderParam(KEY) String key) {
        ledger.execute(key);
        return out -> {
            out.write(LONG_EVENT.getBytes(StandardCharsets.UTF_8));
            out.flush();
            ledger.await(key);
            out.write("data: two\n\n".getBytes(StandardCharsets.UTF_8));
        };
    }

    /** Encoded by an interceptor. */
    @POST
    @Path("zipped")
    @Idempotent
    @Zipped
    @Produces(MediaType.TEXT_PLAIN)
    public String zipped(@HeaderParam(KEY) @Nullable String key) {
        return "execution " + ledger.execute(key);
    }

    /** Encoded by an interceptor that a filter announces, if the client likes it. */
    @POST
    @Path("zipped-on-demand")
    @Idempotent
    @ZippedOnDemand
    @Produces(MediaType.TEXT_PLAIN)
    public String zippedOnDemand(@HeaderParam(KEY) @Nullable String key) {
        return "execution " + ledger.execute(key);
    }

    /** Changed by a response filter. */
    @POST
    @Path("enveloped")
    @Idempotent
    @Enveloped
    @Produces(MediaType.TEXT_PLAIN)
    public String enveloped(@HeaderParam(KEY) @Nullable String key) {
        return "execution " + ledger.execute(key);
    }

    /** Changed by an interceptor. */
    @POST
    @Path("marked")
    @Idempotent
    @Marked
    @Produces(MediaType.TEXT_PLAIN)
    public String marked(@HeaderParam(KEY) @Nullable String key) {
        return "execution " + ledger.execute(key);
    }

    /** A resource of its own, found by its declared type. */
    @Path("sub")
    public Part sub() {
        return new Part(ledger);
    }

    /** A resource of its own, found by what is answered. */
    @Path("sub-dynamic")
    public Object subDynamic() {
        return new Part(ledger);
    }

    /** A part of the bench. */
    public static final class Part {

        private final Ledger ledger;

        Part(Ledger ledger) {
            this.ledger = ledger;
        }

        /** A method of a sub-resource. */
        @POST
        @Idempotent
        @Produces(MediaType.TEXT_PLAIN)
        public String run(@HeaderParam(KEY) @Nullable String key, String body) {
            return body + ", execution " + ledger.execute(key);
        }
    }
}
