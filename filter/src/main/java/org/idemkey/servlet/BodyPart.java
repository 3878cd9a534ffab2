// SPDX-License-Identifier: Apache-2.0
package org.idemkey.servlet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import jakarta.servlet.ServletContext;
import jakarta.servlet.http.Part;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.idemkey.MediaType;
import org.idemkey.MultipartBody;
import org.idemkey.RequestBody;
import org.jspecify.annotations.Nullable;

/** A part of a multipart body (Servlet 6.1 §3.2). It lies where the body lies, and goes with it. */
final class BodyPart implements Part {

    static final String MEDIA_TYPE = "multipart/form-data";

    private final MultipartBody.Part part;
    private final Charset charset;
    private final Path directory;

    private BodyPart(MultipartBody.Part part, Charset charset, Path directory) {
        this.part = part;
        this.charset = charset;
        this.directory = directory;
    }

    /**
     * All parts of a body, as the container would have made them of it.
     *
     * @param ofRequest the encoding that the request tells, if it does
     * @throws IOException if the body isn't well-formed
     */
    static List<Part> all(
            RequestBody body, @Nullable String contentType, ServletContext context, @Nullable Charset ofRequest)
            throws IOException {
        MultipartBody multipart = MultipartBody.parse(body, contentType)
                .orElseThrow(() -> new IOException("the multipart body is not well-formed"));
        Charset charset = Container.partFieldEncoding(context, ofRequest);
        Path directory = tempDirectory(context);
        List<Part> parts = new ArrayList<>();
        for (MultipartBody.Part each : multipart.parts()) {
            BodyPart part = new BodyPart(each, charset, directory);
            String name = part.getName();
            if (Container.keepsNamelessParts(context) || (name != null && !name.isEmpty())) {
                parts.add(part);
            }
        }
        return parts;
    }

    private static Path tempDirectory(ServletContext context) {
        return context.getAttribute(ServletContext.TEMPDIR) instanceof File directory
                ? directory.toPath()
                : Path.of(System.getProperty("java.io.tmpdir"));
    }

    /**
     * Adds the values of fields, which have names, to a form.
     *
     * @param charset of those that don't tell their own
     */
    static void addFields(List<BodyPart> fields, FormParameters form, ServletContext context, Charset charset)
            throws IOException {
        Charset ofForm = charset;
        for (BodyPart field : fields) {
            if (requireNonNull(field.getName()).equals(Container.encodingField(context))) {
                ofForm = Charset.forName(field.text(UTF_8));
            }
        }
        for (BodyPart field : fields) {
            Charset own = Container.partsTellTheirEncoding(context)
                    ? field.ownCharset().orElse(ofForm)
                    : ofForm;
            form.add(requireNonNull(field.getName()), field.text(own));
        }
    }

    /** The content as text. */
    private String text(Charset encoding) throws IOException {
        try (InputStream in = getInputStream()) {
            return new String(in.readAllBytes(), encoding);
        }
    }

    /** The encoding that its own media type tells. */
    private Optional<Charset> ownCharset() {
        try {
            return MediaType.parse(getContentType()).parameter("charset").map(Charset::forName);
        } catch (IllegalArgumentException e) {
            // An encoding that nobody knows is as good as none.
            return Optional.empty();
        }
    }

    @Override
    public InputStream getInputStream() {
        return part.openStream();
    }

    @Override
    public @Nullable String getContentType() {
        return getHeader("Content-Type");
    }

    @Override
    public @Nullable String getName() {
        return disposition("name");
    }

    @Override
    public @Nullable String getSubmittedFileName() {
        return disposition("filename");
    }

    private @Nullable String disposition(String parameter) {
        return part.field("Content-Disposition")
                .flatMap(value -> MediaType.parse(value).parameter(parameter))
                .map(this::decoded)
                .orElse(null);
    }

    private String decoded(String bytes) {
        return new String(bytes.getBytes(ISO_8859_1), charset);
    }

    @Override
    public long getSize() {
        return part.length();
    }

    @Override
    public void write(String fileName) throws IOException {
        Path target = directory.resolve(fileName);
        try (InputStream in = getInputStream()) {
            Files.copy(in, target, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    @Override
    public void delete() {
        // It has no storage of its own; the body's is gone at the end of the request in any case.
    }

    @Override
    public @Nullable String getHeader(String name) {
        return part.field(name).map(this::decoded).orElse(null);
    }

    @Override
    public Collection<String> getHeaders(String name) {
        return part.fields().stream()
                .filter(field -> field.name().equalsIgnoreCase(name))
                .map(field -> decoded(field.value()))
                .toList();
    }

    @Override
    public Collection<String> getHeaderNames() {
        Set<String> names = new LinkedHashSet<>();
        for (MultipartBody.Field field : part.fields()) {
            names.add(field.name().toLowerCase(Locale.ROOT));
        }
        return names;
    }
}
